// The page to ask on: the map and the panel, joined by what somebody chose.
import { askedText, localTime, shortTime } from "../frame.js";
import { AreaMap } from "./area_map.js";
import { call, newKey } from "./calls.js";
import { Card } from "./card.js";
import { compared } from "./comparing.js";
import { districtName, learnDistricts } from "./districts.js";
import { Drawing } from "./drawing.js";
import { button, el, say, show } from "./elements.js";
import { Form } from "./form.js";
import { Heat } from "./heat.js";
import { placeSearch } from "./search.js";
import { SLOTS, State, instantOf, sameArea, sameTime } from "./state.js";
import { TimeStrip } from "./strip.js";
import { Toolbar } from "./tools.js";
import { middleOf, titleOf, whoseText } from "./words.js";

const REST_MS = 120; // expectations are told when fields rest for so long
const PENDING = "fedgroup-asking";
const DASHED = 4;
const LOOK_MS = 20_000; // how often an open page looks for new maps
const find = (selector) => document.querySelector(selector);

export class Page {
  constructor(facts) {
    Object.assign(this, { facts, answers: [], free: {}, failed: {}, asking: {}, expected: null, budget: facts.budget });
    this.state = new State(facts);
    this.map = new AreaMap(find(".fg-map"), facts);
    this.heat = new Heat(this.map, { legend: find(".fg-legend"), hover: find(".fg-hover") });
    this.cards = Object.fromEntries(SLOTS.map((slot) => [slot, this.card(slot)]));
    find("#cards").append(this.cards.A.element);
    this.form = new Form(this.state, facts);
    this.expectation = el("p", { class: "fg-expected", role: "status" }, "…");
    find("#form").append(this.form.element);
    this.drawing = new Drawing(this.map.map, {
      shape: this.map.shape,
      show: (area, corners) => this.map.showDraft(area, corners),
      tell: (area) => this.state.setArea(this.state.active, area),
      hint: () => this.toolbar?.showTool(this.drawing?.tool ?? this.state.tool, this.drawing?.corners.length ?? 0),
      radius: () => this.radius(),
    });
    this.toolbar = new Toolbar(find(".fg-tools"), find(".fg-hint"), {
      take: (tool) => this.state.set({ tool }), close: () => this.drawing.close(), undo: () => this.drawing.undo(),
      districts: facts.districts,
    });
    this.furnish();
    this.drawing.take(this.state.tool);
    this.state.addEventListener("change", ({ detail }) => this.changed(detail));
    addEventListener("hashchange", () => this.arrive());
    this.arrive();
  }

  card(slot) {
    return new Card(this.facts, slot, {
      onArea: (area) => this.state.setArea(slot, area),
      onAsk: () => this.ask(slot),
      onSnap: (area) => this.state.setArea(slot, area),
      onSelect: () => {
        this.state.set({ active: slot });
        seeMap();
      },
      onRemove: () => this.state.set({ areas: { ...this.state.areas, B: null }, shown: { ...this.state.shown, B: null }, active: "A", comparing: false }),
    });
  }

  furnish() {
    const { facts } = this;
    const go = (place) => {
      this.map.goTo(place, this.radius());
      this.state.setArea(this.state.active, this.map.shape.circle({ lng: place[0], lat: place[1] }, this.radius()));
    };
    const take = (area) => {
      this.map.goTo(middleOf(area), this.radius());
      this.state.setArea(this.state.active, area);
    };
    find("#search").append(placeSearch(facts, { names: () => this.map.names, go, take, tell: (text) => this.notice(text) }));
    find("#downloads").append(...facts.formats.map((kind) => el("a", { href: `history.${kind}`, download: true }, FORMATS[kind])));
    find("#compare").addEventListener("click", () => {
      this.state.set({ comparing: true, active: "B" });
      this.cards.B.fields.element.querySelector("input").focus({ preventScroll: true });
      seeMap();
    });
    find("#share").addEventListener("click", () => this.share());
    if (facts.outlines) call("base").then((found) => this.map.showBase(found)).then(() => this.changed(["areas", "names"]));
    if (facts.districts) call("districts").then((found) => this.meetDistricts(found));
    find(".fg-budget").prepend(this.expectation);
    this.strip = new TimeStrip(find(".fg-strip"), (layer) => this.state.set({ layer }));
    this.watchMaps();
  }

  // Districts are known: an address may name one.
  meetDistricts(found) {
    learnDistricts(found);
    this.map.showDistricts(found);
    this.state.readAddress();
    this.changed(["areas", "tool"]);
  }

  // Read the address, and what was answered before: on a new page, after a reload, on the way back.
  async arrive() {
    this.state.readAddress();
    this.state.comparing = Boolean(this.state.areas.B);
    this.form.write();
    this.changed(["areas", "tool", "kind", "layers"]);
    find(".fg-map").dataset.ready = "yes";
    await this.remember();
    this.resume();
  }

  radius() {
    const typed = this.cards[this.state.active].fields.radius;
    return typed > 0 ? typed : this.facts.radii[1];
  }

  // --- whatever changed ---

  changed(names) {
    const { state } = this;
    if (names.includes("tool") && this.drawing.tool !== state.tool) this.drawing.take(state.tool);
    if (names.includes("tool")) this.map.outlineDistricts(state.tool === "district");
    if (["layers", "layer", "kind", "attribute"].some((name) => names.includes(name))) this.showMap();
    if (["areas", "layers", "layer", "kind", "since", "until", "attribute", "clip"].some((name) => names.includes(name))) this.readOff();
    if (names.some((name) => EXPECTING.includes(name))) this.expectSoon();
    this.refresh();
  }

  refresh() {
    const { state } = this;
    this.toolbar.showTool(state.tool, this.drawing.corners.length);
    if (state.comparing !== this.cards.B.element.isConnected) {
      if (state.comparing) find("#cards").append(this.cards.B.element);
      else this.cards.B.element.remove();
    }
    show(find("#compare"), !state.comparing);
    for (const slot of SLOTS) this.refreshCard(slot);
    this.refreshMap();
    this.refreshBudget();
    const [a, b] = SLOTS.map((slot) => this.known(slot));
    const most = Math.max(a?.high ?? 0, b?.high ?? 0, 1);
    this.cards.A.chart(a, most);
    this.cards.B.chart(b, most);
    this.compareOnMap();
    this.tellDifference();
  }

  // Tell whether two areas differ: as the published map compares them, with what was paid; or by their intervals.
  tellDifference() {
    const [a, b] = SLOTS.map((slot) => this.known(slot));
    const onMap = this.difference?.asked === this.differing() ? this.difference : null;
    const told = this.state.comparing && !onMap?.waiting ? compared(a, b, onMap) : "";
    say(find("#difference"), told);
    show(find("#difference"), Boolean(told));
  }

  // Whether the map that is shown compares areas by itself.
  get compares() {
    const { facts } = this.heat;
    return facts?.name === this.state.map?.name && facts?.compares;
  }

  differing() {
    const sides = SLOTS.map((slot) => ({ ...this.state.areas[slot], answer: this.answerOf(slot)?.id }));
    return JSON.stringify({ layer: this.state.map?.name, one: sides[0], other: sides[1] });
  }

  async compareOnMap() {
    const { state } = this;
    const body = this.differing();
    if (!state.comparing || !state.mapFits || !this.compares || !state.areas.A || !state.areas.B || this.difference?.asked === body) return;
    this.difference = { asked: body, waiting: true };
    const found = await call("compare", { body: JSON.parse(body) }).catch(() => ({})); // intervals tell it, if less well
    if (this.difference.asked === body) this.difference = { ...found, asked: body };
    this.tellDifference();
  }

  refreshCard(slot) {
    const { state } = this;
    const card = this.cards[slot];
    const area = state.areas[slot];
    card.fields.write(area);
    say(card.title, area ? `${slot} · ${this.called(area)}` : `${slot} · ${state.active === slot ? "draw an area" : "no area"}`);
    card.element.classList.toggle("fg-active", state.active === slot);
    show(card.more, state.comparing);
    card.select.setAttribute("aria-pressed", String(state.active === slot));
    const answer = this.answerOf(slot);
    const asking = this.asking[slot];
    const shown = JSON.stringify([asking?.words, this.failed[slot], answer?.id, this.free[slot], area]);
    if (shown !== card.shown) {
      card.shown = shown;
      if (asking) card.wait(asking.words);
      else if (this.failed[slot]) card.fail(this.failed[slot]);
      else if (answer) card.answer(answer, shortTime(answer.at));
      else if (this.free[slot]) card.free(this.free[slot]);
      else card.empty(area ? "" : "Draw on the map, or fill in the fields.");
    }
    this.order(slot);
  }

  order(slot) {
    const { state } = this;
    const method = this.method();
    const half = this.expected?.methods[method]?.half;
    const free = this.answerOf(slot) ? null : this.free[slot];
    const { sharper, sharper_told: both, halves } = this.expected?.methods[method] ?? {};
    const joined = free && state.mapFits && sharper != null && slot === this.expected.slot;
    const reach = joined ? sharper : half;
    const enough = free && reach != null && (free.high - free.low) / 2 <= reach;
    const verb = free && !enough ? "Sharpen to" : "Ask for";
    const text = half == null ? "Ask for an answer" : `${verb} ± ${joined ? both : halves.replace("± ", "")}`;
    const left = Math.floor(this.budget.left / state.epsilon + 1e-9);
    const told = (words) => this.cards[slot].order(text, { off: true, why: words });
    if (this.asking[slot]) return told("");
    if (!state.areas[slot]) return told("Say where first.");
    if (this.form.lacks) return told(this.form.lacks);
    if (left < 1) return told(`Your allowance is spent: epsilon ${+this.budget.left.toPrecision(6)} is left, and this costs ${state.epsilon}. Whoever runs the federation can raise it.`);
    const uses = `uses 1 of your ${left} questions left (epsilon ${state.epsilon})`;
    const why = joined ? `${uses}; the answer and the map together` : uses;
    return this.cards[slot].order(text, { why: enough ? `${uses}; the map tells more than this price buys` : why });
  }

  refreshMap() {
    const { state } = this;
    const slots = SLOTS.filter((slot) => state.areas[slot]);
    this.map.showAreas(slots.map((slot) => ({ slot, area: state.areas[slot], told: this.toldOf(slot) })));
    const current = slots.map((slot) => state.areas[slot]);
    const others = this.answers.filter((each) => each.short && !current.some((area) => sameArea(area, each.area)));
    const distinct = others.filter((each, i) => others.findIndex((other) => sameArea(other.area, each.area)) === i);
    this.map.showEarlier(distinct.slice(0, DASHED));
  }

  toldOf(slot) {
    const answer = this.answerOf(slot);
    const mark = this.state.comparing ? `${slot} ` : "";
    if (answer) return mark + answer.short;
    return this.free[slot] ? `${mark}about ${this.free[slot].shown} ± ${this.free[slot].half}` : "";
  }

  refreshBudget() {
    const [left, all] = [this.budget.left, this.budget.allowance].map((each) => Math.floor(each / (this.state.epsilon || 1) + 1e-9));
    const place = find("#budget");
    if (!place.children.length) {
      this.meter = el("meter", { min: 0, "aria-label": "left of your allowance" });
      this.left = el("p", { class: "fg-left-questions" });
      place.append(this.left, this.meter);
    }
    say(this.left, `Questions left: ${left} of ${all} (epsilon ${+this.budget.left.toPrecision(9)} of ${this.budget.allowance})`);
    Object.assign(this.meter, { max: this.budget.allowance || 1, low: this.budget.allowance / 5, value: this.budget.left });
  }

  called(area) {
    return districtName(area) ?? titleOf(area, this.near(area));
  }

  near(area) {
    const reach = area.circle ? area.circle.radius : Infinity;
    return this.map.names.length ? this.map.nameAt(middleOf(area), Math.max(reach, 3000)) : null;
  }

  // --- what is known about an area ---

  answerOf(slot) {
    const id = this.state.shown[slot];
    const found = id && this.answers.find((each) => each.id === id && each.short);
    return found && sameArea(found.area, this.state.areas[slot]) && this.isAbout(found.request) ? found : null;
  }

  isAbout(request) {
    const { state } = this;
    const measured = this.form.measured;
    return request.kind === state.kind && (!measured || (request.attribute === state.attribute && request.clip === state.clip))
      && sameTime(request.since, state.window.since) && sameTime(request.until, state.window.until);
  }

  known(slot) {
    const answer = this.answerOf(slot);
    if (answer) return answer.value === null ? null : answer;
    return this.free[slot] ?? null;
  }

  // Read the areas off the published map, for nothing.
  readOff() {
    const { map, mapFits } = this.state;
    for (const slot of SLOTS) {
      const area = this.state.areas[slot];
      const asked = JSON.stringify([map?.name, area]);
      if (mapFits && area && this.free[slot]?.asked === asked) continue;
      delete this.free[slot];
      this.reading?.[slot]?.abort();
      if (!mapFits || !area) continue;
      const reading = new AbortController();
      this.reading = { ...this.reading, [slot]: reading };
      call("free", { body: { layer: map.name, ...area }, signal: reading.signal })
        .then((found) => { this.free[slot] = { ...found, asked }; this.refresh(); })
        .catch(() => {}); // what cannot be read off can still be asked
    }
  }

  // --- asking ---

  method() {
    const { state, expected } = this;
    if (state.method !== "auto") return state.method;
    return (state.trusts ? expected?.best_trusting : expected?.best) ?? this.facts.method;
  }

  async ask(slot) {
    if (this.cards[slot].off || this.asking[slot]) return;
    const question = this.state.question(slot, this.method());
    if (!question) return;
    const known = this.unheard?.[slot];
    const key = known && JSON.stringify(known.question) === JSON.stringify(question) ? known.key : newKey();
    await this.put(slot, question, key);
  }

  async put(slot, question, key) {
    const area = this.state.areas[slot];
    this.unheard = { ...this.unheard, [slot]: null };
    this.asking[slot] = { words: this.called(areaIn(question)) };
    delete this.failed[slot];
    sessionStorage.setItem(PENDING, JSON.stringify({ slot, question, key }));
    this.refresh();
    try {
      const { answer, budget } = await call("ask", { body: question, key });
      this.budget = budget;
      this.answers = [answer, ...this.answers.filter((each) => each.id !== answer.id)];
      delete this.asking[slot];
      sessionStorage.removeItem(PENDING);
      if (sameArea(this.state.areas[slot], answer.area)) this.state.set({ shown: { ...this.state.shown, [slot]: answer.id } });
      else this.notice(`Answered meanwhile: ${askedText(answer)}: ${answer.short}`);
    } catch (fault) {
      delete this.asking[slot];
      if (fault.unheard) this.unheard = { ...this.unheard, [slot]: { question, key } };
      else sessionStorage.removeItem(PENDING);
      if (sameArea(this.state.areas[slot], area)) this.failed[slot] = fault.message;
      else this.notice(fault.message);
      this.state.set({ shown: { ...this.state.shown, [slot]: null } });
    }
    await this.remember();
  }

  // A question that was under way when the page was left is put again with its key: it is charged once.
  resume() {
    const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
    if (pending && !this.asking[pending.slot]) this.put(pending.slot, pending.question, pending.key);
  }

  async remember() {
    const wished = SLOTS.map((slot) => this.state.shown[slot]).filter(Boolean);
    try {
      const { answers, budget } = await call(`answers?with=${wished}`);
      this.answers = answers;
      this.budget = budget;
    } catch (fault) {
      this.notice(fault.message);
    }
    this.listAnswers();
    this.refresh();
  }

  listAnswers() {
    const rows = this.answers.map((each) => {
      const showIt = button("show", () => this.showAnswer(each), "fg-textual");
      showIt.setAttribute("aria-label", `Show: ${askedText(each)}`);
      const name = districtName(each.area);
      const was = name ? askedText({ ...each, question: `${each.request.kind} in ${name}` }) : askedText(each);
      return el("li", {}, el("span", { class: "fg-was" }, was), el("strong", {}, each.short ?? each.state),
        el("span", { class: "fg-small" }, `${localTime(each.at)}, ${each.method}, ${each.cost}`), ...(each.short ? [showIt] : []));
    });
    find("#answers").replaceChildren(...(rows.length ? rows : [el("li", { class: "fg-small" }, "None yet.")]));
  }

  showAnswer(found) {
    seeMap();
    const { request } = found;
    const slot = this.state.active;
    delete this.failed[slot];
    this.state.set({
      kind: request.kind, attribute: request.attribute ?? this.state.attribute, clip: request.clip ?? this.state.clip,
      since: instantOf(request.since), until: instantOf(request.until),
      areas: { ...this.state.areas, [slot]: found.area }, shown: { ...this.state.shown, [slot]: found.id },
    });
    this.form.write();
  }

  // --- what to expect ---

  expectSoon() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.expect(), REST_MS);
  }

  async expect() {
    const slot = this.state.areas[this.state.active] ? this.state.active : "A";
    const question = this.state.question(slot, undefined);
    this.wishing?.abort();
    if (!question) return this.tellExpected();
    this.wishing = new AbortController();
    try {
      this.expected = { ...(await call("expect", { body: question, signal: this.wishing.signal })), slot };
      this.budget = this.expected.budget;
      this.tellExpected(this.expected.fault);
    } catch (fault) {
      if (fault.name !== "AbortError") this.tellExpected(fault.message);
    }
    return this.refresh();
  }

  tellExpected(fault = "") {
    const method = this.method();
    const found = this.expected?.methods[method];
    this.form.explain(method, found);
    this.expectation.classList.toggle("fg-fault", Boolean(fault));
    say(this.expectation, fault || this.form.lacks || (found ? `An answer: ${found.halves} in 95 % of the answers; ${found.average}, by ${method}` : "…"));
  }

  // --- the published map ---

  // Maps are published while a page is open: it asks for the list now and then, and when somebody comes back to it.
  watchMaps() {
    const look = () => document.visibilityState === "visible" && this.lookForMaps();
    document.addEventListener("visibilitychange", look);
    setInterval(look, LOOK_MS);
    this.map.map.on("zoomend resize", () => this.state.map && this.showMap());
  }

  async lookForMaps() {
    try {
      const { layers } = await call("layers");
      if (JSON.stringify(layers) !== JSON.stringify(this.state.layers)) this.state.set({ layers });
    } catch {
      // the next time may do
    }
  }

  async showMap() {
    const { map, maps } = this.state;
    this.strip.show(maps, map);
    if (!map) {
      this.tellWhose(null);
      return this.notice(this.facts.operator ? PUBLISH : DIRECTLY);
    }
    if ([PUBLISH, DIRECTLY].includes(find("#notice").textContent)) this.notice("");
    const { side } = this.heat;
    const shown = this.heat.facts;
    if (shown?.name === map.name && (!shown.from_afar || this.heat.shown === side)) return this.tellWhose(shown);
    const { facts, cells } = await this.heat.cellsOf(map.name, side);
    if (this.state.map?.name !== map.name || this.heat.side !== side) return undefined;
    this.heat.showLayer(facts, cells, side);
    this.tellWhose(facts);
    return this.refresh();
  }

  tellWhose(layer) {
    say(find("#sentence"), whoseText(layer, layer?.owners ?? this.facts.owners));
  }

  // --- odds and ends ---

  async share() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.notice("The link is copied. Whoever opens it signs in, and sees the area; answers are yours alone.");
    } catch {
      this.notice(location.href);
    }
  }

  notice(text) {
    say(find("#notice"), text);
    show(find("#notice"), Boolean(text));
  }
}

const FORMATS = { geojson: "GeoJSON", csv: "CSV", gpkg: "GeoPackage" };
const EXPECTING = ["areas", "kind", "epsilon", "attribute", "clip", "since", "until", "method", "trusts"];
const DIRECTLY = "No private map is published yet. Draw an area and ask the owners directly.";
const PUBLISH =
  "No private map is published yet. \"fedgroup ask publish --epsilon 1\" publishes one: every owner is charged once, and everybody reads " +
  "it here for nothing. Or draw an area and ask the owners directly.";

const seeMap = () => find(".fg-place").scrollIntoView({ block: "nearest" }); // on a phone it may be far above
const areaIn = (question) => Object.fromEntries(["circle", "rectangle", "polygon"].filter((name) => question[name]).map((name) => [name, question[name]]));
