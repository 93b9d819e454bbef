// Whether two areas can be told apart: as the published map compares them, for noise that both share cancels; or, without
// one, by their intervals, which both hold at once in 90 % of such pairs, whatever joins them.
import { number } from "./words.js";

const MANY = 3;

export function compared(a, b, onMap = null) {
  if (!a || !b) return "";
  const known = onMap?.difference != null;
  const difference = known ? onMap.difference : a.value - b.value;
  const unsure = known ? Math.max(onMap.high - difference, difference - onMap.low) : (a.high - a.low) / 2 + (b.high - b.low) / 2;
  const [size, reach] = [Math.abs(difference), unsure].map((each) => number(Math.round(each)));
  if (Math.abs(difference) <= unsure) return `A and B cannot be told apart: they differ by about ${size} ± ${reach}.`;
  const sure = `they differ by about ${size} ± ${reach}`;
  if (b.value > 0 && a.value / b.value >= MANY) return `A has about ${number(Math.round(a.value / b.value))} times as many as B: ${sure}.`;
  const share = b.value > 0 ? Math.round((100 * Math.abs(difference)) / b.value) : null;
  const words = share === null ? size : `${share} %`;
  return `A has ${words} ${difference < 0 ? "fewer" : "more"} than B: ${sure}.`;
}
