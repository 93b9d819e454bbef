// Whether two areas can be told apart. Both intervals hold at once in 90 % of such pairs, whatever joins them.
import { number } from "./words.js";

const MANY = 3;

export function compared(a, b) {
  if (!a || !b) return "";
  const [difference, unsure] = [a.value - b.value, (a.high - a.low) / 2 + (b.high - b.low) / 2];
  if (Math.abs(difference) <= unsure) return `A and B cannot be told apart: they differ by about ${number(Math.round(Math.abs(difference)))}, and that is less than both uncertainties together.`;
  const sure = "the difference is larger than both uncertainties together";
  if (b.value > 0 && a.value / b.value >= MANY) return `A has about ${number(Math.round(a.value / b.value))} times as many as B: ${sure}.`;
  const share = b.value > 0 ? Math.round((100 * Math.abs(difference)) / b.value) : null;
  const words = share === null ? `${number(Math.round(Math.abs(difference)))}` : `${share} %`;
  return `A has ${words} ${difference < 0 ? "fewer" : "more"} than B: ${sure}.`;
}
