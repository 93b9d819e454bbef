// Privacy and method: what is asked, at what price, by which method, whom that trusts, and of which time.
import { el, field, say, show } from "./elements.js";

const NEEDED = "Say which attribute, and its clip: the most that one record may contribute.";
const PRICE = "What an answer may cost every owner, and your allowance: more epsilon, less noise, less privacy.";
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export class Form {
  constructor(state, facts) {
    Object.assign(this, { state, facts });
    this.kind = field("question", { tag: "select", options: facts.kinds.map(({ name, title }) => [name, title]) });
    this.attribute = facts.attributes?.length
      ? field("attribute", { tag: "select", options: [["", ""], ...facts.attributes.map((name) => [name, name])] })
      : field("attribute");
    this.clip = field("clip: largest value", { type: "number", step: "any", min: 0 });
    this.epsilon = field("epsilon", { type: "number", step: "0.01", min: 0.001 });
    this.slider = el("input", { type: "range", class: "fg-range", "aria-label": "epsilon", min: 0.01, max: 1, step: 0.01 });
    this.since = field("from", { type: "datetime-local" });
    this.until = field("before", { type: "datetime-local" });
    this.trusts = field("Accept methods in which the leader of a group sees its members' exact answers", { type: "checkbox" });
    this.measure = el("div", { class: "fg-fields" }, this.attribute.box, this.clip.box);
    this.needed = el("p", { class: "fg-small fg-needed" }, NEEDED);
    this.fault = el("p", { class: "fg-fault fg-small", role: "status" });
    this.how = el("p", { class: "fg-small" });
    this.trust = el("p", { class: "fg-small fg-trust" });
    this.left = el("p", { class: "fg-small fg-left" });
    this.times = el("fieldset", { class: "fg-times" }, el("legend", {}, `Time (${ZONE})`),
      el("div", { class: "fg-fields" }, this.since.box, this.until.box));
    this.element = el("div", { class: "fg-form" }, this.kind.box, this.measure, this.needed,
      el("div", { class: "fg-epsilon" }, this.slider, this.epsilon.box), el("p", { class: "fg-small" }, PRICE), this.fault,
      this.methods(), this.how, this.trust, this.trusts.box, this.left, this.times);
    show(this.times, facts.times);
    this.write();
    this.listen();
  }

  methods() {
    const options = [{ name: "auto", title: "the smallest error, of those whose trust I accept" }, ...this.facts.methods];
    this.radios = options.map(({ name, title }) => {
      const input = el("input", { type: "radio", name: "method", value: name, on: { change: () => this.state.set({ method: name }) } });
      return { input, label: el("label", { class: "fg-radio" }, input, title) };
    });
    return el("fieldset", { class: "fg-methods" }, el("legend", {}, "method"), ...this.radios.map(({ label }) => label));
  }

  // --- reading and writing ---

  write() {
    const { state } = this;
    this.kind.input.value = state.kind;
    this.attribute.input.value = state.attribute ?? "";
    this.clip.input.value = state.clip ?? "";
    if (Number(this.epsilon.input.value) !== state.epsilon && state.epsilon > 0) this.epsilon.input.value = state.epsilon;
    this.slider.value = state.epsilon;
    for (const { input } of this.radios) input.checked = input.value === state.method;
    this.trusts.input.checked = state.trusts;
    for (const name of ["since", "until"]) this[name].input.value = localText(state[name]);
    this.refresh();
  }

  listen() {
    const { state } = this;
    this.kind.input.addEventListener("change", () => state.set({ kind: this.kind.input.value }));
    this.attribute.input.addEventListener("input", () => state.set({ attribute: this.attribute.input.value.trim() || null }));
    this.clip.input.addEventListener("input", () => state.set({ clip: positive(this.clip.input) }));
    this.epsilon.input.addEventListener("input", () => {
      state.set({ epsilon: positive(this.epsilon.input) });
      if (state.epsilon) this.slider.value = state.epsilon;
    });
    this.slider.addEventListener("input", () => {
      this.epsilon.input.value = this.slider.value;
      state.set({ epsilon: Number(this.slider.value) });
    });
    this.trusts.input.addEventListener("change", () => state.set({ trusts: this.trusts.input.checked }));
    for (const name of ["since", "until"]) {
      this[name].input.addEventListener("input", () => state.set({ [name]: instant(this[name].input) }));
    }
    state.addEventListener("change", () => this.refresh());
  }

  get measured() {
    return this.facts.kinds.find(({ name }) => name === this.state.kind)?.measured;
  }

  // What keeps a question from being asked, besides its area.
  get lacks() {
    const { state } = this;
    if (!(state.epsilon > 0)) return "Epsilon is a number above 0.";
    if (this.measured && !(state.attribute && state.clip > 0)) return NEEDED;
    if (state.since === undefined || state.until === undefined) return "That is no time.";
    return "";
  }

  refresh() {
    show(this.measure, this.measured);
    show(this.needed, this.measured && !(this.state.attribute && this.state.clip > 0));
    say(this.fault, this.lacks === NEEDED ? "" : this.lacks);
    this.epsilon.input.toggleAttribute("aria-invalid", !(this.state.epsilon > 0));
  }

  // Tell what the method that is asked with is like.
  explain(name, expected) {
    say(this.how, this.facts.methods.find((method) => method.name === name)?.how ?? "");
    say(this.trust, expected?.trust ?? "");
    say(this.left, expected?.left ?? "");
  }
}

const positive = (input) => (input.value.trim() !== "" && Number(input.value) > 0 ? Number(input.value) : null);

// A time that was typed, in the visitor's zone, as an instant; null where there is none, undefined while it is none yet.
function instant(input) {
  if (input.value === "") return input.validity.badInput ? undefined : null;
  const at = new Date(input.value);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

function localText(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
