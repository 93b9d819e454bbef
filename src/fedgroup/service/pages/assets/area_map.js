// A map to say an area on: a circle by a click or a drag, a rectangle by a drag, a polygon by its corners.
// Areas are said as the HTTP API takes them. Leaflet comes from NiceGUI's wheel; nothing is loaded from elsewhere.
import { leaflet as L } from "nicegui-leaflet";

const LINES = 10;
const DRAG_PIXELS = 5;

export default {
  template: `<div class="fg-map" tabindex="0" role="application" :aria-label="label"></div>`,
  props: {
    domain: Array, // west, south, east, north
    lonlat: Boolean,
    decimals: Number,
    outlines: Object, // GeoJSON, or none
    tiles: String,
    credit: String,
    area: Object,
    radius: Number,
    told: String,
    label: String,
  },
  mounted() {
    this.corners = [];
    this.map = L.map(this.$el, {
      crs: this.lonlat ? L.CRS.EPSG3857 : L.CRS.Simple,
      minZoom: this.lonlat ? 0 : -24,
      maxZoom: 24,
      zoomSnap: 0.25,
      boxZoom: false,
      fadeAnimation: false,
      doubleClickZoom: false,
      zoomControl: false,
      attributionControl: Boolean(this.tiles),
    });
    this.drawBase();
    this.fit();
    this.drawn = L.layerGroup().addTo(this.map);
    this.draft = L.layerGroup().addTo(this.map);
    this.listen();
    this.takeTool("circle");
    this.showArea();
    this.watcher = new ResizeObserver(() => {
      this.map.invalidateSize();
      if (!this.moved) this.fit();
    });
    this.watcher.observe(this.$el);
    this.$el.dataset.ready = "yes";
  },
  unmounted() {
    this.watcher?.disconnect();
    this.map?.remove();
  },
  computed: {
    shown() { return JSON.stringify([this.area, this.told]); },
  },
  watch: {
    shown() { this.showArea(); },
  },
  methods: {
    // --- base ---
    drawBase() {
      const [west, south, east, north] = this.domain;
      this.$el.classList.toggle("fg-tiled", Boolean(this.tiles));
      if (this.tiles) {
        const credit = document.createElement("span");
        credit.textContent = this.credit;
        L.tileLayer(this.tiles, { maxZoom: 24, attribution: credit.innerHTML }).addTo(this.map);
      }
      L.rectangle([[south, west], [north, east]], { className: "fg-domain", interactive: false }).addTo(this.map);
      for (let i = 1; i < LINES; i++) {
        const x = west + ((east - west) * i) / LINES;
        const y = south + ((north - south) * i) / LINES;
        this.line([[south, x], [north, x]]);
        this.line([[y, west], [y, east]]);
      }
      for (let i = 0; i <= LINES; i += 2) {
        this.mark([south, west + ((east - west) * i) / LINES], west + ((east - west) * i) / LINES, "fg-mark-x");
        if (i) this.mark([south + ((north - south) * i) / LINES, west], south + ((north - south) * i) / LINES, "fg-mark-y");
      }
      if (this.outlines) {
        const point = (_, place) => L.circleMarker(place, { radius: 3, className: "fg-outline", interactive: false });
        const style = (found) => {
          const filled = /Polygon/.test((found.geometry ?? found).type);
          return { className: filled ? "fg-outline fg-filled" : "fg-outline", fill: filled };
        };
        L.geoJSON(this.outlines, { style, interactive: false, pointToLayer: point }).addTo(this.map);
      }
      L.control.zoom({ position: "topright" }).addTo(this.map);
      L.control.scale({ imperial: false, position: "bottomright" }).addTo(this.map);
    },
    line(points) {
      L.polyline(points, { className: "fg-grid", interactive: false }).addTo(this.map);
    },
    mark(place, value, className) {
      const icon = L.divIcon({ className: `fg-mark ${className}`, html: `<span>${this.axisText(value)}</span>`, iconSize: null });
      L.marker(place, { icon, interactive: false, keyboard: false }).addTo(this.map);
    },
    axisText(value) {
      const width = this.domain[2] - this.domain[0];
      if (this.lonlat) return `${+value.toFixed(width > 1 ? 1 : 3)}°`;
      return width > 5000 ? `${+(value / 1000).toFixed(2)} km` : `${+value.toFixed(2)}`;
    },
    fit() {
      const [west, south, east, north] = this.domain;
      this.map.fitBounds([[south, west], [north, east]], { paddingTopLeft: [48, 18], paddingBottomRight: [18, 26], animate: false });
    },
    // --- areas ---
    showArea() {
      this.drawn.clearLayers();
      const layer = this.layerOf(this.area);
      if (!layer) return;
      layer.addTo(this.drawn);
      if (this.told) {
        layer.bindTooltip(this.told, {
          permanent: true, direction: "center", className: "fg-told",
        }).openTooltip();
      }
    },
    layerOf(area) {
      const style = { className: "fg-area", interactive: false };
      if (area?.circle) return L.circle([area.circle.y, area.circle.x], { ...style, radius: area.circle.radius });
      if (area?.rectangle) {
        const { west, south, east, north } = area.rectangle;
        return L.rectangle([[south, west], [north, east]], style);
      }
      if (area?.polygon?.type === "Polygon") {
        return L.polygon(area.polygon.coordinates.map((ring) => ring.map(([x, y]) => [y, x])), style);
      }
      if (area?.polygon) return L.geoJSON(area.polygon, { style, interactive: false });
      return null;
    },
    say(area) {
      this.draft.clearLayers();
      this.$emit("area", area);
    },
    number(value) {
      return +value.toFixed(this.decimals);
    },
    typedRadius() {
      // what the field beside the map says now; the server tells it a moment later
      const typed = Number(document.querySelector(".fg-radius input")?.value);
      return typed > 0 ? typed : this.radius;
    },
    circle(center, radius) {
      const size = this.lonlat ? +radius.toFixed(0) : this.number(radius);
      return { circle: { x: this.number(center.lng), y: this.number(center.lat), radius: size } };
    },
    rectangle(a, b) {
      return {
        rectangle: {
          west: this.number(Math.min(a.lng, b.lng)), south: this.number(Math.min(a.lat, b.lat)),
          east: this.number(Math.max(a.lng, b.lng)), north: this.number(Math.max(a.lat, b.lat)),
        },
      };
    },
    // --- drawing ---
    takeTool(tool) {
      this.taken = tool;
      this.corners = [];
      this.draft.clearLayers();
      const drags = tool === "move" || tool === "polygon";
      this.map.dragging[drags ? "enable" : "disable"]();
      this.$el.classList.toggle("fg-drawing", tool !== "move");
    },
    listen() {
      const el = this.$el;
      el.addEventListener("pointerdown", (e) => this.press(e));
      el.addEventListener("pointermove", (e) => this.move(e));
      el.addEventListener("pointerup", (e) => this.release(e));
      el.addEventListener("pointercancel", () => this.cancel());
      el.addEventListener("take", (e) => this.takeTool(e.detail));
      el.addEventListener("keydown", (e) => this.key(e));
      this.map.on("click", (e) => this.taken === "polygon" && this.addCorner(e.latlng));
      this.map.on("dblclick", () => this.closePolygon());
      this.map.on("dragstart zoomstart", (e) => { this.moved = this.moved || e.type === "dragstart" || this.byHand; });
      el.addEventListener("wheel", () => { this.byHand = true; }, { passive: true });
      el.addEventListener("click", (e) => { if (e.target.closest(".leaflet-control")) this.byHand = true; });
    },
    press(e) {
      if (e.button || !e.isPrimary || e.target.closest(".leaflet-control")) return;
      if (this.taken !== "circle" && this.taken !== "rectangle") return;
      this.start = { at: this.map.mouseEventToLatLng(e), x: e.clientX, y: e.clientY };
      this.$el.setPointerCapture(e.pointerId);
    },
    move(e) {
      const place = this.map.mouseEventToLatLng(e);
      if (this.start && this.isDrag(e)) this.showDraft(this.pulled(place));
      if (this.taken === "polygon" && this.corners.length) this.showCorners(place);
    },
    release(e) {
      if (!this.start) return;
      const place = this.map.mouseEventToLatLng(e);
      const area = this.isDrag(e) ? this.pulled(place) : this.taken === "circle" ? this.circle(place, this.typedRadius()) : null;
      this.start = null;
      if (area) this.say(area);
    },
    isDrag(e) {
      return Math.hypot(e.clientX - this.start.x, e.clientY - this.start.y) > DRAG_PIXELS;
    },
    pulled(place) {
      const from = this.start.at;
      return this.taken === "circle" ? this.circle(from, this.map.distance(from, place)) : this.rectangle(from, place);
    },
    showDraft(area) {
      this.draft.clearLayers();
      const layer = this.layerOf(area);
      if (layer) layer.addTo(this.draft);
    },
    addCorner(place) {
      const first = this.corners[0];
      const near = first && this.map.latLngToContainerPoint(first).distanceTo(this.map.latLngToContainerPoint(place)) < 10;
      if (near && this.corners.length > 2) return this.closePolygon();
      const last = this.corners.at(-1);
      if (!last || !last.equals(place)) this.corners.push(place);
      this.showCorners(place);
    },
    showCorners(place) {
      this.draft.clearLayers();
      L.polyline([...this.corners, place], { className: "fg-area", interactive: false, fill: false }).addTo(this.draft);
      for (const corner of this.corners) {
        L.circleMarker(corner, { radius: 4, className: "fg-corner", interactive: false }).addTo(this.draft);
      }
    },
    closePolygon() {
      if (this.corners.length < 3) return;
      const ring = this.corners.map((place) => [this.number(place.lng), this.number(place.lat)]);
      this.corners = [];
      this.say({ polygon: { type: "Polygon", coordinates: [[...ring, ring[0]]] } });
    },
    cancel() {
      this.start = null;
      this.corners = [];
      this.draft.clearLayers();
    },
    key(e) {
      if (e.target !== this.$el) return;
      if (e.key === "Escape") this.cancel();
      if (e.key !== "Enter") return;
      if (this.taken === "polygon" && this.corners.length > 2) this.closePolygon();
      else if (this.taken === "polygon") this.addCorner(this.map.getCenter());
      else this.say(this.circle(this.map.getCenter(), this.typedRadius()));
    },
  },
};
