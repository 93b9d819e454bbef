// A card: one area, what is known about it for nothing, what was answered, and the button to ask.
import { AreaFields } from "./area_fields.js";
import { askedText } from "../frame.js";
import { button, el, say, show } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";

export class Card {
  constructor(facts, slot, { onArea, onAsk, onSnap, onSelect, onRemove }) {
    this.slot = slot;
    this.fields = new AreaFields(facts, slot, onArea);
    this.title = el("h3", {});
    this.badge = el("span", { class: "fg-badge" });
    this.told = el("div", { class: "fg-answer", role: "status", "aria-live": "polite" });
    this.bar = document.createElementNS(SVG, "svg");
    this.bar.setAttribute("class", "fg-bar-chart");
    this.bar.setAttribute("aria-hidden", "true");
    this.snap = button("", () => onSnap(this.snapped), "fg-textual");
    this.button = button("Ask", onAsk, "fg-button");
    this.cost = el("p", { class: "fg-small fg-cost", role: "status" });
    this.select = button(`Draw ${slot}`, onSelect);
    const more = slot === "A" ? [this.select] : [this.select, button("Remove", onRemove)];
    this.more = el("span", { class: "fg-row" }, ...more);
    this.element = el("article", { class: `fg-card fg-slot fg-slot-${slot}`, "aria-label": `Area ${slot}` },
      el("div", { class: "fg-head" }, this.title, this.badge), this.told, this.snap, this.fields.element,
      this.button, this.cost, this.more);
    show(this.snap, false);
    this.empty();
  }

  // --- what is known ---

  empty(text = "") {
    show(this.snap, false);
    this.told.replaceChildren(...(text ? [el("p", { class: "fg-small" }, text)] : []));
    this.mark("");
  }

  wait(question) {
    show(this.snap, false);
    this.told.replaceChildren(el("p", { class: "fg-waiting" }, "Asking the owners …"), el("p", { class: "fg-small" }, question));
    this.mark("asking");
  }

  fail(words) {
    show(this.snap, false);
    this.told.replaceChildren(el("p", { class: "fg-fault", role: "alert" }, words));
    this.mark("");
  }

  free(found) {
    const few = found.guessed ? "; the map has too few cells to know it better" : "";
    const cut = found.rough ? "small against the cells it cuts, so the ± is rough" : `most of the ± is from cells that its border cuts${few}`;
    const read = found.cut > 0.5 ? `read off the published map; ${cut}` : "read off the published map";
    const why = found.nothing ? `${read}; there may be nothing here, so this holds in more than 95 of 100 cases` : read;
    this.told.replaceChildren(
      el("p", { class: "fg-value fg-free" }, el("strong", {}, `about ${found.shown}`), el("span", { class: "fg-interval" }, found.between)),
      this.bar, el("p", { class: "fg-small" }, why));
    this.snapped = found.snapped?.area;
    say(this.snap, found.snapped ? `Snap to cells (± ${found.snapped.half})` : "");
    show(this.snap, Boolean(found.snapped));
    this.mark("free");
  }

  answer(found, when) {
    show(this.snap, false);
    const value = el("p", { class: "fg-value", "data-question": found.id, "data-replied": found.replied },
      el("strong", {}, found.shown), el("span", { class: "fg-interval" }, found.between));
    const facts = { owners: found.heard, cost: found.cost, method: `${found.method}, ${found.noises}`, time: found.took };
    const rows = Object.entries(facts).map(([name, fact]) => el("div", {}, el("dt", {}, name), el("dd", {}, fact)));
    const notes = found.notes.map((note) => el("li", {}, note));
    const joined = found.joined ? [el("p", { class: "fg-small fg-joined" }, found.joined)] : [];
    this.told.replaceChildren(value, this.bar, ...joined, el("p", { class: "fg-small fg-asked" }, askedText(found)), el("dl", {}, ...rows),
      el("details", { class: "fg-small" }, el("summary", {}, "Who is trusted, and what to know"), el("ul", {}, ...notes)));
    this.mark(`asked ${when}`);
  }

  mark(text) {
    say(this.badge, text);
    this.badge.classList.toggle("fg-badge-free", text === "free");
    show(this.badge, Boolean(text));
  }

  // Draw an interval on a scale that both cards share.
  chart(found, most = 1) {
    this.bar.toggleAttribute("hidden", !found);
    if (!found) return;
    const at = (value) => (100 * Math.min(Math.max(value, 0), most)) / most;
    const rect = (x, width, className, y, height) => {
      const made = document.createElementNS(SVG, "rect");
      for (const [name, value] of Object.entries({ x, y, width, height, rx: 1.5, class: className })) made.setAttribute(name, value);
      return made;
    };
    this.bar.setAttribute("viewBox", "0 0 100 6");
    this.bar.setAttribute("preserveAspectRatio", "none");
    this.bar.replaceChildren(rect(0, 100, "fg-axis-line", 2.6, 0.8),
      rect(at(found.low), Math.max(1, at(found.high) - at(found.low)), `fg-span fg-span-${this.slot}`, 0.8, 4.4));
  }

  // --- the button: it stays where it is and keeps the focus, whether it can be used or not ---

  order(text, { off = false, why = "" } = {}) {
    say(this.button, text);
    if (off) this.button.setAttribute("aria-disabled", "true");
    else this.button.removeAttribute("aria-disabled");
    say(this.cost, why);
    this.cost.classList.toggle("fg-fault", off && why !== "");
  }

  get off() {
    return this.button.getAttribute("aria-disabled") === "true";
  }
}
