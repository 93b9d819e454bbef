// What lies below areas: shapes and names of a base map, or of any GeoJSON that an operator supplies.
// Records are never drawn, so nothing here may look like one: points with a name are words, others are grey crosses.
const WIDTH = 9;
const HEIGHT = 34;
const MOST = 40;

export function readBase(found) {
  const features = found.type === "FeatureCollection" ? found.features : [found.type === "Feature" ? found : { geometry: found }];
  const shapes = [];
  const names = [];
  for (const each of features) {
    const { geometry, properties } = { properties: {}, ...each };
    if (!geometry) continue;
    const named = geometry.type === "Point" && properties?.name;
    if (named) {
      const [x, y] = geometry.coordinates;
      names.push({ name: String(properties.name), x, y, weight: Number(properties.population) || 0 });
    } else {
      shapes.push({ type: "Feature", geometry, properties: { look: lookOf(geometry, properties) } });
    }
  }
  names.sort((a, b) => b.weight - a.weight);
  return { shapes: { type: "FeatureCollection", features: shapes }, names, credit: typeof found.credit === "string" ? found.credit : "" };
}

function lookOf(geometry, properties) {
  const kind = properties?.kind;
  if (["land", "water"].includes(kind)) return `fg-${kind}`;
  return /Polygon/.test(geometry.type) ? "fg-outline fg-filled" : "fg-outline";
}

// Draw the names of the largest places that fit beside each other.
export function drawNames(L, map, group, names) {
  group.clearLayers();
  const taken = [];
  for (const { name, x, y } of names) {
    const at = map.project([y, x]);
    const half = (name.length * WIDTH) / 2;
    const box = [at.x - half, at.y - HEIGHT / 2, at.x + half, at.y + HEIGHT / 2];
    if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    const html = document.createElement("span");
    html.textContent = name;
    const icon = L.divIcon({ className: "fg-name", html, iconSize: null });
    L.marker([y, x], { icon, interactive: false, keyboard: false, pane: "names" }).addTo(group);
    if (taken.length >= MOST) break;
  }
}
