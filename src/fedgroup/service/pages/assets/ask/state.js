// What somebody chose on this page. It lives here and in the page's address, and nowhere else: what is asked is what
// is here at that moment, and a reload, a link or the way back finds it again.
import { districtCalled, districtName } from "./districts.js";
import { plain } from "./words.js";

export const SLOTS = ["A", "B"];
const SIDES = ["west", "south", "east", "north"];

export class State extends EventTarget {
  constructor(facts) {
    super();
    this.facts = facts;
    this.areas = { A: facts.first, B: null };
    this.shown = { A: null, B: null }; // ids of the answers that are shown
    this.active = "A";
    this.tool = "circle";
    this.layers = facts.layers;
    this.layer = null; // the name of the published map that somebody chose; null: the newest
    this.kind = facts.kinds[0].name;
    this.epsilon = facts.epsilon;
    this.method = "auto";
    this.trusts = false;
    this.attribute = this.clip = this.since = this.until = null;
    this.readAddress();
  }

  // Change some of it; whoever shows it is told what changed.
  set(changes) {
    Object.assign(this, changes);
    this.writeAddress();
    this.dispatchEvent(new CustomEvent("change", { detail: Object.keys(changes) }));
  }

  setArea(slot, area) {
    this.set({ areas: { ...this.areas, [slot]: area }, shown: { ...this.shown, [slot]: null } });
  }

  // The question about a slot's area, as the HTTP API takes it, or null while something is missing or no number.
  question(slot, method) {
    const area = this.areas[slot];
    if (!area || !(this.epsilon > 0)) return null;
    const measured = this.facts.kinds.find((kind) => kind.name === this.kind)?.measured;
    if (measured && !(this.attribute && this.clip > 0)) return null;
    const { since, until } = this.window;
    if (since === undefined || until === undefined) return null;
    const asked = { kind: this.kind, epsilon: this.epsilon, method, ...area };
    if (measured) Object.assign(asked, { attribute: this.attribute, clip: this.clip });
    if (since) asked.since = since;
    if (until) asked.until = until;
    return asked;
  }

  // The published maps of what is asked about, the earliest window first; all of them where there is none of that.
  get maps() {
    const kind = this.layers.filter((layer) => layer.kind === this.kind && (layer.attribute ?? this.attribute) === this.attribute);
    return kind.length ? kind : this.layers;
  }

  // The published map that is shown.
  get map() {
    return this.maps.find((layer) => layer.name === this.layer) ?? this.maps.at(-1) ?? null;
  }

  // Whether the published map that is shown is of what is asked about.
  get mapFits() {
    const { map, window } = this;
    const measured = this.facts.kinds.find((kind) => kind.name === this.kind)?.measured;
    return Boolean(map?.asks) && map.kind === this.kind && (!measured || (map.attribute === this.attribute && map.clip === this.clip))
      && sameTime(window.since, map.since) && sameTime(window.until, map.until);
  }

  // The time that is asked about: what was typed, or that of the published map, or all times.
  get window() {
    const { since, until } = this;
    return since === null && until === null ? { since: null, until: null, ...windowOf(this.map) } : { since, until };
  }

  // --- the address ---

  writeAddress() {
    const said = new URLSearchParams();
    for (const slot of SLOTS) {
      if (this.areas[slot]) said.set(slot.toLowerCase(), areaText(this.areas[slot]));
      if (this.shown[slot]) said.set(`${slot.toLowerCase()}-answer`, this.shown[slot]);
    }
    if (this.kind !== this.facts.kinds[0].name) said.set("kind", this.kind);
    if (this.epsilon !== this.facts.epsilon && this.epsilon > 0) said.set("epsilon", plain(this.epsilon));
    if (this.method !== "auto") said.set("method", this.method);
    if (this.trusts) said.set("trusts", "yes");
    if (this.tool !== "circle") said.set("tool", this.tool);
    if (this.layer !== null && this.map?.name === this.layer) said.set("layer", this.layer);
    for (const name of ["attribute", "clip", "since", "until"]) if (this[name]) said.set(name, this[name]);
    history.replaceState(null, "", `#${said}`);
  }

  readAddress() {
    const said = new URLSearchParams(location.hash.slice(1));
    for (const slot of SLOTS) {
      const area = areaOf(said.get(slot.toLowerCase()));
      if (area) this.areas[slot] = area;
      this.shown[slot] = said.get(`${slot.toLowerCase()}-answer`);
    }
    const kinds = this.facts.kinds.map((kind) => kind.name);
    if (kinds.includes(said.get("kind"))) this.kind = said.get("kind");
    if (Number(said.get("epsilon")) > 0) this.epsilon = Number(said.get("epsilon"));
    if (this.facts.methods.some((method) => method.name === said.get("method"))) this.method = said.get("method");
    this.trusts = said.get("trusts") === "yes";
    if (["circle", "rectangle", "polygon", "move", ...(this.facts.districts ? ["district"] : [])].includes(said.get("tool"))) this.tool = said.get("tool");
    this.layer = said.get("layer");
    this.attribute = said.get("attribute");
    this.clip = Number(said.get("clip")) || null;
    for (const name of ["since", "until"]) this[name] = Number.isNaN(Date.parse(said.get(name))) ? null : said.get(name);
  }
}

const windowOf = (layer) => (layer ? { since: layer.since, until: layer.until } : {});

export const instantOf = (time) => (time == null ? null : typeof time === "number" ? new Date(time * 1000).toISOString() : time);
export const sameTime = (one, other) => (one == null || other == null ? (one ?? null) === (other ?? null) : new Date(instantOf(one)).getTime() === new Date(other).getTime());

export const sameArea = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export function areaText(area) {
  if (area.circle) return `circle:${[area.circle.x, area.circle.y, area.circle.radius].map(plain)}`;
  if (area.rectangle) return `rectangle:${SIDES.map((side) => plain(area.rectangle[side]))}`;
  if (districtName(area)) return `district:${districtName(area)}`;
  const { type, coordinates } = area.polygon;
  if (type !== "Polygon" || coordinates.length > 1) return `geojson:${JSON.stringify(area.polygon)}`;
  return `polygon:${coordinates[0].slice(0, -1).map((corner) => corner.map(plain).join(",")).join(" ")}`;
}

export function areaOf(text) {
  const [, name, rest] = /^(\w+):(.*)$/s.exec(text ?? "") ?? [];
  try {
    if (name === "district") return districtCalled(rest);
    if (name === "geojson") return { polygon: JSON.parse(rest) };
    if (name === "polygon") return polygonOf(rest);
    const values = rest.split(",").map(Number);
    if (values.some((value) => !Number.isFinite(value))) return null;
    if (name === "circle" && values.length === 3) return { circle: { x: values[0], y: values[1], radius: values[2] } };
    if (name === "rectangle" && values.length === 4) {
      return { rectangle: Object.fromEntries(SIDES.map((side, i) => [side, values[i]])) };
    }
  } catch {
    return null;
  }
  return null;
}

// The polygon whose corners a text says, "x,y x,y x,y", or null while it is not finished.
export function polygonOf(text) {
  const corners = text.trim().split(/\s+/).map((pair) => pair.split(",").map((part) => (part === "" ? NaN : Number(part))));
  if (corners.length < 3 || corners.some((pair) => pair.length !== 2 || !pair.every(Number.isFinite))) return null;
  const [first, last] = [corners[0], corners.at(-1)];
  const closed = first[0] === last[0] && first[1] === last[1];
  if (closed && corners.length < 4) return null;
  return { polygon: { type: "Polygon", coordinates: [closed ? corners : [...corners, first]] } };
}
