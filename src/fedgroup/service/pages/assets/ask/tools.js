// The tools on the map, and what each of them does.
import { button, say, show } from "./elements.js";

const TOOLS = { circle: "Circle", rectangle: "Rectangle", polygon: "Polygon", district: "District", move: "Move" };
const HINTS = {
  circle: "Click for a circle, or drag one.",
  rectangle: "Drag from corner to corner, or click both.",
  polygon: "Click corner after corner; a double click closes.",
  district: "Click in a district, or find it by its name.",
  move: "Drag to move the map; areas stay.",
};

export class Toolbar {
  constructor(place, hint, { take, close, undo, districts }) {
    this.hint = hint;
    this.buttons = Object.entries(TOOLS).filter(([name]) => districts || name !== "district").map(([name, title]) => {
      const made = button(title, () => take(name), "fg-tool");
      made.dataset.tool = name;
      return made;
    });
    this.close = button("Close polygon", close, "fg-tool fg-tool-more");
    this.undo = button("Undo corner", undo, "fg-tool fg-tool-more");
    place.append(...this.buttons, this.undo, this.close);
  }

  showTool(tool, corners) {
    for (const made of this.buttons) made.setAttribute("aria-pressed", String(made.dataset.tool === tool));
    show(this.undo, corners > 0);
    show(this.close, tool === "polygon" && corners > 2);
    const begun = tool === "polygon" ? `${corners} ${corners === 1 ? "corner" : "corners"}.` : "One corner; now the opposite one.";
    say(this.hint, corners ? begun : HINTS[tool]);
  }
}
