// Finding a place by its name on the base map, or by its numbers.
import { districtCalled, districtNames } from "./districts.js";
import { el, field } from "./elements.js";

export function placeSearch(facts, { names, go, take, tell }) {
  const list = el("datalist", { id: "places" });
  const [west, south, east, north] = facts.domain;
  const middle = [(west + east) / 2, (south + north) / 2].map((each) => +each.toFixed(facts.lonlat ? 2 : 0));
  const example = (facts.lonlat ? middle.reverse() : middle).join(" ");
  const { input, box } = field("Find a place", { type: "search", list: "places", placeholder: `Find a place, or ${example}` });
  const form = el("form", { class: "fg-search", role: "search" }, box, list, el("button", { class: "fg-hidden" }, "Go there"));
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const district = districtLike(input.value);
    const found = placeOf(input.value, facts, names());
    if (district) take(district);
    else if (found) go(found);
    else if (input.value.trim()) tell(`There is no place "${input.value.trim()}" on this map.`);
  });
  input.addEventListener("focus", () => {
    if (!list.children.length) list.append(...[...districtNames(), ...names().map(({ name }) => name)].map((value) => el("option", { value })));
  });
  return form;
}

// The district of that name, however it is spelled, or null.
function districtLike(text) {
  const name = districtNames().find((each) => plain(each) === plain(text.trim()));
  return name === undefined ? null : districtCalled(name);
}

const plain = (name) => name.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

// The place that a text names: two numbers inside the domain, or the largest place whose name begins so, or holds it.
export function placeOf(text, facts, names) {
  const wished = text.trim().toLowerCase();
  if (!wished) return null;
  const numbers = wished.split(/[\s,;]+/).map(Number);
  if (numbers.length === 2 && numbers.every(Number.isFinite)) {
    const [x, y] = facts.lonlat ? [numbers[1], numbers[0]] : numbers;
    const [west, south, east, north] = facts.domain;
    return x >= west && x < east && y >= south && y < north ? [x, y] : null;
  }
  const matches = (test) => names.find(({ name }) => test(plain(name)));
  const wishedPlain = plain(wished);
  const found = matches((name) => name === wishedPlain) ?? matches((name) => name.startsWith(wishedPlain)) ?? matches((name) => name.includes(wishedPlain));
  return found ? [found.x, found.y] : null;
}
