// What the page asks of the provider. Whoever is signed out goes to sign in; whatever goes wrong is told in words.
export class Fault extends Error {
  constructor(words, { unheard = false } = {}) {
    super(words);
    this.unheard = unheard; // nobody knows whether the provider got it: ask again with the same key
  }
}

const AWAY = "The provider cannot be reached now. Nothing is charged twice: asking again goes on with the same question.";

export async function call(path, { body, key, signal } = {}) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  let reply, told;
  try {
    reply = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: JSON.stringify(body), signal });
    told = await reply.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault(AWAY, { unheard: true });
  }
  if (reply.status === 401) {
    location.assign("login");
    return new Promise(() => {}); // the page goes away
  }
  if (!reply.ok) throw new Fault(told.words ?? told.detail ?? "Something went wrong.");
  return told;
}

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return `page-${[...bytes].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}
