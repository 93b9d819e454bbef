// Numbers and places in words.
const FEW = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const number = (value) => (Number.isInteger(value) || Math.abs(value) >= 1000 ? WHOLE : FEW).format(value);

export const short = (value) => {
  if (value >= 1e6) return `${FEW.format(value / 1e6)}M`;
  return value >= 1e3 ? `${FEW.format(value / 1e3)}k` : FEW.format(value);
};

export const plain = (value) => String(+Number(value).toPrecision(10));

export function metres(value) {
  return value >= 1000 ? `${FEW.format(value / 1000)} km` : `${FEW.format(value)} m`;
}

// An area's middle, as x and y.
export function middleOf(area) {
  if (area.circle) return [area.circle.x, area.circle.y];
  if (area.rectangle) return [(area.rectangle.west + area.rectangle.east) / 2, (area.rectangle.south + area.rectangle.north) / 2];
  const ring = area.polygon.type === "Polygon" ? area.polygon.coordinates[0] : area.polygon.coordinates[0][0];
  const corners = ring.slice(0, -1);
  return [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
}

// What an area is called: near a place that has a name, or by its numbers.
export function titleOf(area, near) {
  const about = area.circle ? `${metres(area.circle.radius)} around` : area.rectangle ? "a rectangle" : "a polygon";
  if (near) return `${near}, ${about}`;
  const [x, y] = middleOf(area).map(plain);
  return area.circle ? `${about} ${x}, ${y}` : `${about} at ${(+x).toPrecision(5)}, ${(+y).toPrecision(5)}`;
}

const DAY = { day: "numeric", month: "short" };

// A window of time as days of the visitor's zone, or from when, or until when.
export function windowText(since, until) {
  if (!since && !until) return "all times";
  const at = (text, last) => new Date(new Date(text).getTime() - (last ? 1 : 0));
  const day = (time, more = { year: "numeric" }) => time.toLocaleDateString("en-GB", { ...DAY, ...more });
  if (!until) return `from ${day(at(since))} on`;
  if (!since) return `until ${day(at(until, true))}`;
  const [first, last] = [at(since), at(until, true)];
  if (day(first) === day(last)) return day(first);
  return `${day(first, first.getFullYear() === last.getFullYear() ? {} : undefined)} to ${day(last)}`;
}

// Whose records of which time a published map is of; without one, who keeps records.
export function whoseText(layer, owners) {
  const whose = `${number(owners)} ${owners === 1 ? "owner" : "owners"}`;
  if (!layer) return `${whose} keep records of this place; records never leave them`;
  const what = {
    people: `Private counts of ${whose}' people, each at its first place`,
    sum: `Private sums of ${layer.attribute} over ${whose}' records`,
    count: `Private counts of ${whose}' records`,
  }[layer.kind];
  return `${what}, ${windowText(layer.since, layer.until)}; records never leave them`;
}
