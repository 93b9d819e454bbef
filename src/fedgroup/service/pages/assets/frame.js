// What all pages share: light or dark, kept in a cookie, and times in the visitor's own zone, which is named.
const YEAR_S = 365 * 24 * 3600;
const ZONE = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
});

export const localTime = (text) => {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : ZONE.format(at);
};

// What was asked, about which time.
export const askedText = ({ question, request }) => {
  const at = (time) => localTime(typeof time === "number" ? time * 1000 : time);
  const from = request.since == null ? "" : ` from ${at(request.since)}`;
  return `${question}${from}${request.until == null ? "" : ` before ${at(request.until)}`}`;
};

// The hour, if it is of today.
export const shortTime = (text) => {
  const at = new Date(text);
  const today = at.toDateString() === new Date().toDateString();
  return today ? at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZoneName: "short" }) : localTime(text);
};

function turn() {
  const body = document.body.classList;
  const dark = body.contains("fg-plain") ? matchMedia("(prefers-color-scheme: dark)").matches : body.contains("body--dark");
  body.remove("fg-plain", "body--dark", "body--light");
  body.add(dark ? "body--light" : "body--dark");
  const path = location.pathname.replace(/[^/]*$/, "").replace(/(.)\/$/, "$1");
  document.cookie = `fedgroup-look=${dark ? "light" : "dark"}; path=${path}; max-age=${YEAR_S}; samesite=strict`;
  document.dispatchEvent(new Event("look"));
}

export function tellTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([data-local])")) {
    time.dataset.local = "yes";
    time.textContent = localTime(time.getAttribute("datetime"));
  }
}

document.querySelectorAll("[data-look]").forEach((button) => button.addEventListener("click", turn));
tellTimes(document);
new MutationObserver(() => tellTimes(document)).observe(document.body, { childList: true, subtree: true });
