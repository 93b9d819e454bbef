// Drawing areas with a mouse, a finger, a pen or the keyboard. A press that hardly moves is a tap, whatever the hand
// trembles; two fingers zoom and never draw; a second tap on the last corner, or one on the first, closes a polygon.
const TREMBLE = { mouse: 6, pen: 10, touch: 14 };
const NEAR = 10;
const PANNING = ["polygon", "district"]; // tools that take places: whoever drags moves the map

export class Drawing {
  // `shape` makes areas of places, `show` shows a draft and its corners, `tell` is told what was drawn, `hint` is told
  // that something changed, `radius` returns that of a circle by a tap.
  constructor(map, { shape, show, tell, hint, radius }) {
    Object.assign(this, { map, shape, show, tell, hint, radius, tool: "circle", corners: [], start: null });
    this.fingers = new Set();
    this.pinched = false;
    const element = map.getContainer();
    element.addEventListener("pointerdown", (e) => this.press(e));
    element.addEventListener("pointermove", (e) => this.move(e));
    element.addEventListener("pointerup", (e) => this.release(e));
    element.addEventListener("pointercancel", (e) => this.lose(e));
    element.addEventListener("keydown", (e) => this.key(e));
  }

  take(tool) {
    this.tool = tool;
    this.cancel();
    this.map.dragging[tool === "move" ? "enable" : "disable"]();
  }

  cancel() {
    this.start = null;
    this.corners = [];
    this.show(null, []);
    this.hint();
  }

  undo() {
    this.corners = this.corners.slice(0, -1);
    this.show(null, this.corners);
    this.hint();
  }

  // --- hands ---

  press(e) {
    if (e.target.closest(".leaflet-control, .fg-over")) return;
    this.fingers.add(e.pointerId);
    if (this.fingers.size > 1) this.pinched = true;
    if (this.pinched) {
      this.start = null;
      this.show(null, this.corners);
      return;
    }
    if (e.button || this.tool === "move") return;
    this.start = { id: e.pointerId, at: this.map.mouseEventToLatLng(e), x: e.clientX, y: e.clientY, last: e, dragged: false };
    this.map.getContainer().setPointerCapture(e.pointerId);
  }

  move(e) {
    if (!this.start) {
      if (this.corners.length && e.pointerType === "mouse") this.show(this.follow(this.map.mouseEventToLatLng(e)), this.corners);
      return;
    }
    if (e.pointerId !== this.start.id) return;
    const far = Math.hypot(e.clientX - this.start.x, e.clientY - this.start.y) > (TREMBLE[e.pointerType] ?? TREMBLE.mouse);
    this.start.dragged = this.start.dragged || far;
    if (this.start.dragged && PANNING.includes(this.tool)) {
      this.map.panBy([this.start.last.clientX - e.clientX, this.start.last.clientY - e.clientY], { animate: false });
    } else if (this.start.dragged) {
      this.show(this.pulled(this.map.mouseEventToLatLng(e)), []);
    }
    this.start.last = e;
  }

  release(e) {
    this.fingers.delete(e.pointerId);
    const { start, pinched } = this;
    if (this.fingers.size === 0) this.pinched = false;
    if (!start || pinched || e.pointerId !== start.id) return;
    this.start = null;
    if (!start.dragged) this.tap(start.at);
    else if (!PANNING.includes(this.tool)) this.say(this.pulled(this.map.mouseEventToLatLng(e), start.at));
  }

  lose(e) {
    this.fingers.delete(e.pointerId);
    if (this.fingers.size === 0) this.pinched = false;
    if (this.start?.id === e.pointerId) this.start = null;
    this.show(null, this.corners);
  }

  // --- what a tap, or Enter, does at a place ---

  tap(place) {
    if (this.tool === "circle") return this.say(this.shape.circle(place, this.radius()));
    if (this.tool === "district") return this.say(this.shape.district(place));
    if (this.tool === "rectangle" && this.corners.length) {
      return this.isNear(place, this.corners[0]) ? undefined : this.say(this.shape.rectangle(this.corners[0], place));
    }
    const again = this.corners.length && (this.isNear(place, this.corners.at(-1)) || this.isNear(place, this.corners[0]));
    if (again) return this.close();
    this.corners = [...this.corners, place];
    this.show(null, this.corners);
    return this.hint();
  }

  close() {
    if (this.tool === "polygon" && this.corners.length > 2) this.say(this.shape.polygon(this.corners));
  }

  say(area) {
    this.cancel();
    if (area) this.tell(area);
  }

  key(e) {
    if (e.target !== this.map.getContainer()) return;
    if (e.key === "Escape") this.cancel();
    if (e.key === "Backspace") this.undo();
    if (e.key === "Enter" && this.tool !== "move") this.tap(this.map.getCenter());
  }

  pulled(place, from = this.start.at) {
    return this.tool === "circle" ? this.shape.circle(from, this.map.distance(from, place)) : this.shape.rectangle(from, place);
  }

  follow(place) {
    return this.tool === "rectangle" ? this.shape.rectangle(this.corners[0], place) : { path: [...this.corners, place] };
  }

  isNear(one, other) {
    const [a, b] = [one, other].map((place) => this.map.latLngToContainerPoint(place));
    return a.distanceTo(b) < NEAR;
  }
}
