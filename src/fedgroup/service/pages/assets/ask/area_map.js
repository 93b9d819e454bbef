// The map: what is below (outlines, names, tiles, a grid), published cells, areas and what was answered about them.
// Leaflet comes from NiceGUI's wheel; nothing is loaded from elsewhere.
import { leaflet as L } from "../../../_leaflet/index.js";
import { drawNames, readBase } from "./base.js";
import { districtAt } from "./districts.js";

const LINES = 10;
const STEPS = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] };
const ZOOMS = { "+": 0.5, "=": 0.5, "-": -0.5 };
export class AreaMap {
  constructor(element, facts) {
    Object.assign(this, { element, facts, names: [] });
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "application");
    element.setAttribute("aria-label", "Map of the federation");
    element.setAttribute("aria-describedby", "map-help");
    this.map = L.map(element, {
      crs: facts.lonlat ? L.CRS.EPSG3857 : L.CRS.Simple,
      minZoom: facts.lonlat ? 0 : -24, maxZoom: 24, zoomSnap: 0.25, boxZoom: false, doubleClickZoom: false, keyboard: false,
      fadeAnimation: false, zoomAnimation: false, zoomControl: false, attributionControl: Boolean(facts.tiles),
    });
    this.fit();
    for (const [name, level] of [["below", 250], ["names", 620], ["told", 640]]) {
      this.map.createPane(name).style.zIndex = level;
    }
    this.drawDomain();
    this.earlier = L.layerGroup().addTo(this.map);
    this.drawn = L.layerGroup().addTo(this.map);
    this.draft = L.layerGroup().addTo(this.map);
    L.control.zoom({ position: "topright" }).addTo(this.map);
    L.control.scale({ imperial: false, position: "bottomright" }).addTo(this.map);
    this.map.on("dragstart", () => { this.moved = true; });
    element.addEventListener("keydown", (e) => this.steer(e));
    element.addEventListener("wheel", () => { this.moved = true; }, { passive: true });
    new ResizeObserver(() => {
      this.map.invalidateSize();
      if (!this.moved) this.fit();
    }).observe(element);
  }

  // Move the map by keys, at once: a key that came during an animation would be lost.
  steer(e) {
    if (e.target !== this.element || e.ctrlKey || e.altKey || e.metaKey) return;
    const step = STEPS[e.key];
    if (!step && !(e.key in ZOOMS)) return;
    e.preventDefault();
    this.moved = true;
    if (step) this.map.panBy(step, { animate: false });
    else this.map.setZoom(this.map.getZoom() + ZOOMS[e.key], { animate: false });
  }

  // --- below ---

  drawDomain() {
    const [west, south, east, north] = this.facts.domain;
    this.element.classList.toggle("fg-tiled", Boolean(this.facts.tiles));
    if (this.facts.tiles) {
      const credit = document.createElement("span");
      credit.textContent = this.facts.credit;
      L.tileLayer(this.facts.tiles, { maxZoom: 24, attribution: credit.innerHTML }).addTo(this.map);
    }
    L.rectangle([[south, west], [north, east]], { className: "fg-domain", interactive: false, pane: "below" }).addTo(this.map);
    for (let i = 0; i <= LINES; i += 2) {
      const x = west + ((east - west) * i) / LINES;
      const y = south + ((north - south) * i) / LINES;
      if (i && i < LINES) {
        this.line([[south, x], [north, x]]);
        this.line([[y, west], [y, east]]);
      }
      this.mark([south, x], x, "fg-mark-x");
      if (i) this.mark([y, west], y, "fg-mark-y");
    }
  }

  line(points) {
    L.polyline(points, { className: "fg-grid", interactive: false, pane: "below" }).addTo(this.map);
  }

  mark(place, value, className) {
    const html = document.createElement("span");
    html.textContent = this.axisText(value);
    const icon = L.divIcon({ className: `fg-mark ${className}`, html, iconSize: null });
    L.marker(place, { icon, interactive: false, keyboard: false, pane: "below" }).addTo(this.map);
  }

  axisText(value) {
    const width = this.facts.domain[2] - this.facts.domain[0];
    if (this.facts.lonlat) return `${+value.toFixed(width > 1 ? 1 : 3)}°`;
    return width > 5000 ? `${+(value / 1000).toFixed(2)} km` : `${+value.toFixed(2)}`;
  }

  showBase(found) {
    const { shapes, names, credit } = readBase(found);
    this.names = names;
    const style = (each) => ({ className: each.properties.look, interactive: false });
    const point = (each, place) => L.marker(place, {
      icon: L.divIcon({ className: "fg-cross", html: "+", iconSize: null }), interactive: false, keyboard: false, pane: "below",
    });
    L.geoJSON(shapes, { style, interactive: false, pointToLayer: point, pane: "below" }).addTo(this.map);
    this.labels = L.layerGroup().addTo(this.map);
    const draw = () => drawNames(L, this.map, this.labels, names);
    this.map.on("zoomend resize", draw);
    draw();
    if (credit) {
      const line = L.control.attribution({ prefix: false, position: "bottomright" });
      const text = document.createElement("span");
      text.textContent = credit;
      line.addAttribution(text.innerHTML).addTo(this.map);
    }
  }

  showDistricts(found) {
    this.borders = L.geoJSON(found, { style: { className: "fg-district", interactive: false }, interactive: false, pane: "below" });
  }

  // Show where districts end while somebody chooses one.
  outlineDistricts(visible) {
    if (!this.borders) return;
    if (visible) this.borders.addTo(this.map);
    else this.borders.remove();
  }

  fit() {
    const [west, south, east, north] = this.facts.domain;
    const small = this.element.clientWidth < 500;
    const padding = { paddingTopLeft: small ? [34, 62] : [48, 50], paddingBottomRight: [18, 26] };
    this.map.fitBounds([[south, west], [north, east]], { ...padding, animate: false });
  }

  // --- areas ---

  showAreas(areas) {
    this.drawn.clearLayers();
    for (const { area, slot, told } of areas) this.put(this.drawn, area, `fg-area fg-area-${slot}`, told, `fg-told fg-told-${slot}`);
  }

  showEarlier(answers) {
    this.earlier.clearLayers();
    for (const { area, short } of answers) this.put(this.earlier, area, "fg-earlier", short, "fg-told fg-told-earlier", "names");
  }

  put(group, area, className, told, toldClass, pane = "told") {
    const layer = this.layerOf(area, className);
    if (!layer) return;
    layer.addTo(group);
    if (!told) return;
    const text = document.createElement("span");
    text.textContent = told;
    layer.bindTooltip(text, { permanent: true, direction: "center", className: toldClass, pane }).openTooltip();
  }

  layerOf(area, className = "fg-area") {
    const style = { className, interactive: false };
    if (area?.circle) return L.circle([area.circle.y, area.circle.x], { ...style, radius: area.circle.radius });
    if (area?.rectangle) {
      const { west, south, east, north } = area.rectangle;
      return L.rectangle([[south, west], [north, east]], style);
    }
    if (area?.polygon) return L.geoJSON(area.polygon, { style, interactive: false });
    if (area?.path) return L.polyline(area.path, { ...style, fill: false });
    return null;
  }

  showDraft(area, corners) {
    this.draft.clearLayers();
    const shown = area ?? (corners.length > 1 ? { path: corners } : null);
    this.layerOf(shown, "fg-area fg-draft")?.addTo(this.draft);
    for (const corner of corners) {
      L.circleMarker(corner, { radius: 4, className: "fg-corner", interactive: false }).addTo(this.draft);
    }
  }

  goTo([x, y], radius) {
    this.moved = true;
    const bounds = this.facts.lonlat ? L.latLng(y, x).toBounds(radius * 6) : [[y - radius * 3, x - radius * 3], [y + radius * 3, x + radius * 3]];
    this.map.fitBounds(bounds, { animate: false });
  }

  // The name of the place that is nearest to one, if any is near.
  nameAt([x, y], within) {
    let best = null;
    let least = within;
    for (const name of this.names) {
      const distance = this.map.distance([y, x], [name.y, name.x]);
      if (distance < least) [best, least] = [name.name, distance];
    }
    return best;
  }

  // --- areas of places, with as many decimals as a place has ---

  get shape() {
    const round = (value) => +value.toFixed(this.facts.decimals);
    return {
      circle: (center, radius) => ({
        circle: { x: round(center.lng), y: round(center.lat), radius: this.facts.lonlat ? +radius.toFixed(0) || 1 : round(radius) },
      }),
      rectangle: (a, b) => ({
        rectangle: {
          west: round(Math.min(a.lng, b.lng)), south: round(Math.min(a.lat, b.lat)),
          east: round(Math.max(a.lng, b.lng)), north: round(Math.max(a.lat, b.lat)),
        },
      }),
      district: (place) => districtAt(place.lng, place.lat),
      polygon: (corners) => {
        const ring = corners.map((corner) => [round(corner.lng), round(corner.lat)]);
        return { polygon: { type: "Polygon", coordinates: [[...ring, ring[0]]] } };
      },
    };
  }
}
