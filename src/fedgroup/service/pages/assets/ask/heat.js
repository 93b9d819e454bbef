// Published cells as a heat map: logarithmic colours, cells that cannot be told from empty left out before they come.
// Cells of one size are coloured by their values, others by how dense they are: a large cell is not a busy place.
// A cell is filled as far as it is sure: whole within 10 %, less within 35 %, a hint beyond; a thin line shows where it ends.
import { leaflet as L } from "../../../_leaflet/index.js";
import { call } from "./calls.js";
import { el, say, show } from "./elements.js";
import { metres, number, short, windowText } from "./words.js";

const COLOURS = 6;
const BUCKETS = 64;
const SURE = 0.1;
const ROUGH = 0.35;
const SQUARE = 9; // pixels: squares that hold smaller cells are at least so wide
const SEEN = 3; // pixels: a smaller square is overlooked
const OUTLINED = 14; // pixels: smaller cells have no room for a line

// Where colours begin: 1, 3, 10, 30 and so on, from what can be told from nothing to the largest value.
export function steps(least, most) {
  const found = [];
  for (let power = Math.floor(Math.log10(Math.max(least, 1e-9))); 10 ** power <= most; power++) {
    for (const digit of [1, 3]) {
      const value = digit * 10 ** power;
      if (value > least && value <= most) found.push(+value.toPrecision(1));
    }
  }
  const room = COLOURS - 1;
  const spread = found.length > room ? Array.from({ length: room }, (_, i) => found[Math.round(((i + 1) * found.length) / room) - 1]) : found;
  return [least, ...spread];
}

export const sureness = ([, , , , value, low, high]) => {
  const rough = (high - low) / 2 / value;
  return rough <= SURE ? 1 : rough <= ROUGH ? 0.75 : 0.5;
};

// How many squares lie along the domain, so that each can be seen: a power of two.
export const sideFor = (pixels) => Math.min(4096, Math.max(8, 2 ** Math.floor(Math.log2(Math.max(1, pixels / SQUARE)))));

export class Heat {
  constructor(areaMap, { legend, hover }) {
    Object.assign(this, { areaMap, map: areaMap.map, legend, hover, cells: [], steps: [] });
    this.canvas = L.DomUtil.create("canvas", "fg-heat", this.map.createPane("heat"));
    this.map.getPane("heat").style.zIndex = 300;
    this.map.on("move zoomend resize viewreset", () => this.draw());
    document.addEventListener("look", () => this.draw());
    const element = this.map.getContainer();
    element.addEventListener("pointermove", (e) => this.point(e));
    element.addEventListener("pointerleave", () => show(hover, false));
  }

  showLayer(facts, cells, side) {
    Object.assign(this, { facts, shown: side });
    this.cells = cells.map((cell) => ({ cell, shade: facts.even ? cell[4] : cell[4] / this.squareKm(cell) })).sort((a, b) => a.shade - b.shade);
    const [low, high] = [this.cells.at(0)?.shade ?? facts.least, this.cells.at(-1)?.shade ?? facts.least];
    this.steps = steps(facts.even ? facts.least : Math.max(low, 1e-9), high);
    this.fill();
    this.draw();
    this.explain();
  }

  // A map's cells, or squares that can be seen where cells are too small; what was fetched once is kept.
  cellsOf(name, side) {
    const key = `${name}?side=${side}`;
    this.fetched ??= new Map();
    if (!this.fetched.has(key)) {
      this.fetched.set(key, call(`layers/${key}`));
      this.fetched.get(key).catch(() => this.fetched.delete(key));
    }
    return this.fetched.get(key);
  }

  // How many squares along the domain can be seen now.
  get side() {
    const [west, south, east] = this.areaMap.facts.domain;
    return sideFor(this.map.latLngToContainerPoint([south, east]).x - this.map.latLngToContainerPoint([south, west]).x);
  }

  squareKm([west, south, east, north]) {
    const middle = (south + north) / 2;
    return (this.map.distance([middle, west], [middle, east]) * this.map.distance([south, west], [north, west])) / 1e6;
  }

  // --- finding a cell ---

  fill() {
    const [west, south, east, north] = this.areaMap.facts.domain;
    this.bucket = (x, y) => [
      Math.min(BUCKETS - 1, Math.max(0, Math.floor(((x - west) / (east - west)) * BUCKETS))),
      Math.min(BUCKETS - 1, Math.max(0, Math.floor(((y - south) / (north - south)) * BUCKETS))),
    ];
    this.index = new Map();
    for (const { cell } of this.cells) {
      const [[c0, r0], [c1, r1]] = [this.bucket(cell[0], cell[1]), this.bucket(cell[2], cell[3])];
      for (let c = c0; c <= c1; c++) {
        for (let r = r0; r <= r1; r++) {
          const key = c * BUCKETS + r;
          if (!this.index.has(key)) this.index.set(key, []);
          this.index.get(key).push(cell);
        }
      }
    }
  }

  cellAt(x, y) {
    if (!this.index) return null;
    const [c, r] = this.bucket(x, y);
    return (this.index.get(c * BUCKETS + r) ?? []).find((cell) => x >= cell[0] && x < cell[2] && y >= cell[1] && y < cell[3]) ?? null;
  }

  point(e) {
    if (e.pointerType !== "mouse" || !this.facts || e.target.closest(".fg-over, .leaflet-control")) return show(this.hover, false);
    const place = this.map.mouseEventToLatLng(e);
    const [west, south, east, north] = this.areaMap.facts.domain;
    if (place.lng < west || place.lng >= east || place.lat < south || place.lat >= north) return show(this.hover, false);
    this.hover.replaceChildren(...this.told(place));
    show(this.hover, true);
    const box = this.map.getContainer().getBoundingClientRect();
    const left = Math.min(e.clientX - box.left + 14, box.width - this.hover.offsetWidth - 6);
    this.hover.style.left = `${left}px`;
    this.hover.style.top = `${Math.max(4, e.clientY - box.top - this.hover.offsetHeight - 12)}px`;
    return undefined;
  }

  told(place) {
    const cell = this.cellAt(place.lng, place.lat);
    if (!cell) return [el("strong", {}, `fewer than ${number(this.facts.least)}`), el("span", {}, "cannot be told from none")];
    const near = this.areaMap.nameAt([place.lng, place.lat], this.map.distance([cell[1], cell[0]], [cell[3], cell[2]]) * 4);
    const size = metres(this.map.distance([cell[1], cell[0]], [cell[1], cell[2]]));
    return [
      el("strong", {}, `about ${number(Math.round(cell[4]))} (± ${number(Math.round((cell[6] - cell[5]) / 2))})`),
      el("span", {}, `${size} cell${near ? `, near ${near}` : ""}`),
      ...(this.facts.even ? [] : [el("span", {}, `${number(+(cell[4] / this.squareKm(cell)).toPrecision(3))} per km²`)]),
      el("span", {}, "free: from the published map"),
    ];
  }

  // --- drawing ---

  colour(value) {
    const at = this.steps.findLastIndex((step) => value >= step);
    const last = this.steps.length - 1;
    return this.colours[last <= 0 ? COLOURS - 1 : Math.round((Math.max(0, at) / last) * (COLOURS - 1))];
  }

  draw() {
    const size = this.map.getSize();
    const scale = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: size.x * scale, height: size.y * scale });
    Object.assign(this.canvas.style, { width: `${size.x}px`, height: `${size.y}px` });
    L.DomUtil.setPosition(this.canvas, this.map.containerPointToLayerPoint([0, 0]));
    const style = getComputedStyle(document.body);
    this.colours = Array.from({ length: COLOURS }, (_, i) => style.getPropertyValue(`--heat-${i + 1}`).trim());
    const brush = this.canvas.getContext("2d");
    brush.scale(scale, scale);
    brush.globalAlpha = 0.88;
    for (const { cell, shade } of this.cells) {
      const a = this.map.latLngToContainerPoint([cell[3], cell[0]]);
      const b = this.map.latLngToContainerPoint([cell[1], cell[2]]);
      if (b.x < 0 || b.y < 0 || a.x > size.x || a.y > size.y) continue;
      const part = sureness(cell);
      const [w, h] = [Math.max(SEEN, (b.x - a.x) * part), Math.max(SEEN, (b.y - a.y) * part)];
      brush.fillStyle = brush.strokeStyle = this.colour(shade);
      if (part < 1 && b.x - a.x > OUTLINED) brush.strokeRect(a.x + 0.5, a.y + 0.5, b.x - a.x - 1, b.y - a.y - 1);
      brush.fillRect((a.x + b.x - w) / 2, (a.y + b.y - h) / 2, w, h);
    }
    Object.assign(this.canvas.dataset, { cells: this.cells.length, side: this.shown });
  }

  explain() {
    const { facts, steps: from } = this;
    const what = facts.what === "sum" ? `Sum of ${facts.attribute}` : facts.what[0].toUpperCase() + facts.what.slice(1);
    const last = from.length - 1;
    const scale = from.map((value, i) => {
      const colour = last <= 0 ? COLOURS : Math.round((i / last) * (COLOURS - 1)) + 1;
      return el("li", {}, el("i", { class: `fg-swatch fg-heat-${colour}`, "aria-hidden": "true" }), `${short(facts.even ? Math.round(value) : +value.toPrecision(2))}${i === last ? "+" : ""}`);
    });
    const top = this.cells.slice(-5).reverse().map(({ cell }) => {
      const [x, y] = [(cell[0] + cell[2]) / 2, (cell[1] + cell[3]) / 2];
      const near = this.areaMap.nameAt([x, y], Infinity);
      return el("li", {}, `about ${number(Math.round(cell[4]))} (± ${number(Math.round((cell[6] - cell[5]) / 2))}), ${near ? `near ${near}` : `at ${number(x)}, ${number(y)}`}`);
    });
    this.legend.replaceChildren(
      el("strong", {}, `${what} per ${facts.even ? "cell" : "km²"}, ${windowText(facts.since, facts.until)}`),
      el("ol", { class: "fg-scale" }, ...scale),
      el("p", { class: "fg-small fg-sizes" },
        el("i", { class: "fg-swatch fg-sure", "aria-hidden": "true" }), "sure (± 10 %) ",
        el("i", { class: "fg-swatch fg-rough", "aria-hidden": "true" }), "rough (± 35 %) ",
        el("i", { class: "fg-swatch fg-faint", "aria-hidden": "true" }), "hint"),
      el("p", { class: "fg-small" }, `blank: fewer than ${number(Math.round(facts.least))}${facts.even ? "" : " in a cell"}, cannot be told from none`),
      el("details", { class: "fg-small" }, el("summary", {}, "The busiest cells"), el("ol", {}, ...top)),
    );
    show(this.legend, true);
    say(this.hover, "");
  }
}
