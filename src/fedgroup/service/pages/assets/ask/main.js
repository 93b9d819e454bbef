// Begin: what the page knows is in it, all else is asked for.
import { Page } from "./page.js";

new Page(JSON.parse(document.querySelector("#facts").textContent));
