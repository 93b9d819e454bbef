// The area of a card in numbers: for keyboards, screen readers, and whoever knows the place exactly.
import { districtName } from "./districts.js";
import { el, field, show } from "./elements.js";
import { areaText, polygonOf } from "./state.js";
import { plain } from "./words.js";

const SIDES = ["west", "south", "east", "north"];

export class AreaFields {
  // `tell` is given the area that the fields say, or null while they say none.
  constructor(facts, slot, tell) {
    Object.assign(this, { tell, said: "" });
    const number = (label, given = {}) => field(label, { type: "number", step: "any", inputmode: "decimal", ...given });
    const [x, y] = facts.lonlat ? ["longitude", "latitude"] : ["x", "y"];
    this.fields = { x: number(x), y: number(y), radius: number("radius in m", { min: 0 }) };
    for (const side of SIDES) this.fields[side] = number(side);
    this.fields.corners = field("corners: x,y x,y x,y ...", { tag: "textarea", rows: 2 });
    const [least, , most] = facts.radii;
    this.slider = el("input", { type: "range", class: "fg-range", "aria-label": "radius", min: least, max: most, step: least });
    this.slider.addEventListener("input", () => {
      this.fields.radius.input.value = this.slider.value;
      this.read();
    });
    const box = (...names) => el("div", { class: "fg-fields" }, ...names.map((name) => this.fields[name].box));
    this.boxes = {
      circle: el("div", {}, box("x", "y", "radius"), this.slider),
      rectangle: box(...SIDES),
      polygon: el("div", {}, this.fields.corners.box),
    };
    for (const { input } of Object.values(this.fields)) input.addEventListener("input", () => this.read());
    this.fault = el("p", { class: "fg-small fg-fault", role: "status", id: `fault-${slot}` });
    this.element = el("fieldset", { class: "fg-numbers" }, el("legend", { class: "fg-hidden" }, `Area ${slot} in numbers`),
      ...Object.values(this.boxes), this.fault);
    this.take("circle");
  }

  take(kind) {
    this.kind = kind;
    for (const [name, box] of Object.entries(this.boxes)) show(box, name === kind);
  }

  get radius() {
    return Number(this.fields.radius.input.value);
  }

  // Say an area in the fields, unless they say it already: nobody's typing is changed under their hands.
  write(area) {
    if (!area || areaText(area) === this.said) return;
    this.said = areaText(area);
    this.take(districtName(area) ? "district" : Object.keys(area)[0]); // a district has a name, and needs no numbers
    if (area.circle) {
      for (const name of ["x", "y", "radius"]) this.fields[name].input.value = plain(area.circle[name]);
      this.slider.value = area.circle.radius;
    } else if (area.rectangle) {
      for (const side of SIDES) this.fields[side].input.value = plain(area.rectangle[side]);
    } else {
      const simple = area.polygon.type === "Polygon" && area.polygon.coordinates.length === 1;
      this.fields.corners.input.value = simple ? areaText(area).replace("polygon:", "") : area.polygon.type;
    }
    this.mark([]);
  }

  read() {
    const [area, wrong] = this[this.kind]();
    this.mark(wrong);
    this.said = area ? areaText(area) : "";
    if (area?.circle) this.slider.value = area.circle.radius;
    this.tell(area);
  }

  circle() {
    const { x, y, radius } = this.values("x", "y", "radius");
    const wrong = [...unsaid({ x, y }), ...(radius > 0 ? [] : ["radius"])];
    return [wrong.length ? null : { circle: { x, y, radius } }, wrong];
  }

  rectangle() {
    const sides = this.values(...SIDES);
    const wrong = unsaid(sides);
    if (!(sides.west < sides.east)) wrong.push("east");
    if (!(sides.south < sides.north)) wrong.push("north");
    return [wrong.length ? null : { rectangle: sides }, wrong];
  }

  polygon() {
    const area = polygonOf(this.fields.corners.input.value);
    return [area, area ? [] : ["corners"]];
  }

  values(...names) {
    const read = (name) => (this.fields[name].input.value.trim() === "" ? NaN : Number(this.fields[name].input.value));
    return Object.fromEntries(names.map((name) => [name, read(name)]));
  }

  mark(wrong) {
    for (const [name, { input }] of Object.entries(this.fields)) {
      if (wrong.includes(name)) {
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", this.fault.id);
      } else {
        input.removeAttribute("aria-invalid");
        input.removeAttribute("aria-describedby");
      }
    }
    this.fault.textContent = wrong.length ? FAULTS[this.kind] : "";
  }
}

const FAULTS = {
  circle: "A circle needs a place and a radius above 0; nothing can be asked until it has them.",
  rectangle: "A rectangle needs four sides, west of east and south of north.",
  polygon: "A polygon needs three corners or more: x,y x,y x,y",
};

const unsaid = (values) => Object.entries(values).filter(([, value]) => !Number.isFinite(value)).map(([name]) => name);
