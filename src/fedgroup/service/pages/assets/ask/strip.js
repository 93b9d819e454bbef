// The strip of time: a published map for each window, and the one that is shown.
import { el, say, show } from "./elements.js";
import { windowText } from "./words.js";

export class TimeStrip {
  // `choose` is told the name of the map that somebody chose, null for the newest.
  constructor(place, choose) {
    Object.assign(this, { place, maps: [] });
    this.label = el("output", { class: "fg-small" });
    this.slider = el("input", { type: "range", "aria-label": "time", min: 0, step: 1 });
    this.slider.addEventListener("input", () => {
      const at = Number(this.slider.value);
      this.tell(at);
      choose(at === this.maps.length - 1 ? null : this.maps[at].name);
    });
    place.append(this.label, this.slider);
  }

  show(maps, map) {
    this.maps = maps;
    show(this.place, maps.length > 1);
    if (maps.length < 2) return;
    const at = maps.findIndex((each) => each.name === map.name);
    this.slider.max = maps.length - 1;
    if (Number(this.slider.value) !== at) this.slider.value = at;
    this.tell(at);
  }

  tell(at) {
    const words = windowText(this.maps[at].since, this.maps[at].until);
    say(this.label, words);
    this.slider.setAttribute("aria-valuetext", words);
  }
}
