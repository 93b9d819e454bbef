// Districts: areas with names, which an operator supplies. An area is known as a district by its shape, wherever it comes from.
const areas = new Map(); // by name
const names = new Map(); // by shape

export function learnDistricts(found) {
  for (const { geometry, properties } of found.features) {
    const area = { polygon: geometry };
    areas.set(properties.name, area);
    names.set(JSON.stringify(area), properties.name);
  }
}

export const districtCalled = (name) => areas.get(name) ?? null;

export const districtNames = () => [...areas.keys()];

// The name of an area, if it is a district.
export const districtName = (area) => (area?.polygon ? names.get(JSON.stringify({ polygon: area.polygon })) ?? null : null);

// The district that a place lies in; of several the first.
export function districtAt(x, y) {
  for (const area of areas.values()) {
    const { type, coordinates } = area.polygon;
    const parts = type === "Polygon" ? [coordinates] : coordinates;
    if (parts.some((rings) => rings.reduce((inside, ring) => inside !== within(ring, x, y), false))) return area;
  }
  return null;
}

// Whether a place lies within a ring: a line from it to the east crosses the ring an odd number of times.
function within(ring, x, y) {
  let inside = false;
  for (let i = 1; i < ring.length; i++) {
    const [[ax, ay], [bx, by]] = [ring[i - 1], ring[i]];
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside;
  }
  return inside;
}
