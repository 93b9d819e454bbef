// Small ways to make parts of a page; texts are texts, never HTML.
export function el(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "on") for (const [event, does] of Object.entries(value)) made.addEventListener(event, does);
    else if (name === "class") made.className = value;
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

// Say something where it is not said already, so that screen readers hear it once.
export function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

export const show = (place, visible) => place.toggleAttribute("hidden", !visible);

let numbers = 0;

// A field with its label.
export function field(label, given = {}) {
  const id = `field-${++numbers}`;
  const { tag = "input", options, ...rest } = given;
  const input = el(tag, { id, autocomplete: "off", ...rest });
  for (const [value, text] of options ?? []) input.append(el("option", { value }, text));
  return { input, box: el("div", { class: "fg-field" }, el("label", { for: id }, label), input) };
}

export const button = (text, click, kind = "fg-quiet") => el("button", { type: "button", class: kind, on: { click } }, text);
