/** Times and ids as a person reads them. */
import { element } from "../../web/dom.js";

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** In the largest unit of which there is one. */
export function durationText(ms) {
  const [name, of] = units.find(([, size]) => Math.abs(ms) >= size) ?? [];
  return of === undefined ? `${Math.round(ms)} ms` : `${Math.trunc(ms / of)} ${name}`;
}

/** An age that goes on: `tick` writes it anew. */
export function ageOf(atMs, { coming = false, ago = false } = {}) {
  const made = element("time", "age");
  made.dateTime = new Date(atMs).toISOString();
  made.title = new Date(atMs).toLocaleString();
  made.dataset.at = String(atMs);
  if (coming) made.dataset.coming = "";
  if (ago) made.dataset.ago = "";
  write(made);
  return made;
}

export function tick() {
  for (const made of document.querySelectorAll("time[data-at]")) write(made);
}

function write(made) {
  const awayMs = Number(made.dataset.at) - Date.now();
  const text = "coming" in made.dataset ? comingText(awayMs) : ageText(-awayMs, "ago" in made.dataset ? " ago" : "");
  if (made.textContent !== text) made.textContent = text;
}

/** The clocks of two machines differ. */
function ageText(ms, behind) {
  return ms < 1000 ? "now" : `${durationText(ms)}${behind}`;
}

function comingText(ms) {
  return ms < 1000 ? "due" : `in ${durationText(ms)}`;
}

export const shortId = (id) => id.slice(0, 8);

export function timeText(atMs) {
  return new Date(atMs).toLocaleTimeString(undefined, { hour12: false });
}

/** One, or several of them. */
export function count(number, one, several = `${one}s`) {
  return `${number} ${number === 1 ? one : several}`;
}
