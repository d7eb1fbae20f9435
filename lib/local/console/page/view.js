/** Shared by the views of the operators' page: requests to the server, times, and dialogs. */
import { $, h } from "../../web/dom.js";
import { read as get, act as post } from "../../web/server.js";
import { durationText } from "../../web/timeline.js";

export const read = (path, headers) => orSignIn(get(`/operate/api/${path}`, headers));
export const act = (path, body) => orSignIn(post(`/operate/api/${path}`, body));

function orSignIn(asked) {
  return asked.catch((error) => {
    if (error.status !== 401) throw error;
    // The form leads back to the hash.
    location.replace(`/operate/sign-in${location.hash}`);
    return new Promise(() => {});
  });
}

/** Runs at once and every `ms` while the page is visible, until `left` is aborted. */
export function repeat(ms, work, left) {
  const run = () => document.visibilityState === "visible" && work();
  const timer = setInterval(run, ms);
  document.addEventListener("visibilitychange", run, { signal: left });
  left.addEventListener("abort", () => clearInterval(timer));
  run();
}

/** The short form of a request id that pages and messages show. */
export const shortId = (id) => id.slice(0, 8);

export const count = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

/** An age that `tick` keeps up to date. `form` is "", "ago", or "coming" for a time in the future. */
export function ageOf(atMs, form = "") {
  const date = new Date(atMs);
  const data = { "data-at": String(atMs), "data-form": form };
  const made = h("time.age", {
    dateTime: date.toISOString(),
    title: date.toLocaleString(),
    ...data,
  });
  writeAge(made);
  return made;
}

export function tick() {
  document.querySelectorAll("time[data-at]").forEach(writeAge);
}

function writeAge(made) {
  const { at, form } = made.dataset;
  const text = form === "coming" ? comingText(at - Date.now()) : ageText(Date.now() - at, form);
  if (made.textContent !== text) made.textContent = text;
}

const comingText = (ms) => (ms < 1000 ? "due" : `in ${durationText(ms)}`);

/** The clocks of two machines differ, so an age may be negative. */
const ageText = (ms, form) => (ms < 1000 ? "now" : `${durationText(ms)} ${form}`.trim());

/** Asks for confirmation. Resolves to true if the person confirms. Escape means no. */
export function confirmed({ title, text, yes }) {
  const { promise, resolve } = Promise.withResolvers();
  const no = answer("Go back", "quiet", "no");
  showDialog(title, h("p", text), [no, answer(yes, "primary", "yes")], (value) =>
    resolve(value === "yes"),
  );
  no.focus();
  return promise;
}

const keys = [
  ["j  k  ↓  ↑", "next and previous task"],
  ["Enter", "open the task"],
  ["Esc", "go back to the list, or leave the filter"],
  ["/", "filter"],
  ["c", "cancel the open task"],
  ["r", "retry the open task"],
  ["1  2  3", "tasks, destinations, dead letters"],
  ["?", "show this list"],
];

export function showKeys() {
  const rows = keys.flatMap(([names, what]) => [
    h(
      "dt",
      names.split("  ").map((name) => h("kbd", name)),
    ),
    h("dd", what),
  ]);
  showDialog("Keyboard shortcuts", h("dl.keys", rows), [answer("Close", "primary", "")], () => {});
}

function showDialog(title, body, answers, closed) {
  const dialog = $("dialog");
  dialog.replaceChildren(
    h("h2", { id: "dialog-title" }, title),
    body,
    h("form.answers", { method: "dialog" }, answers),
  );
  dialog.onclose = () => closed(dialog.returnValue);
  dialog.returnValue = "";
  dialog.showModal();
}

const answer = (label, look, value) => h(`button.${look}`, { type: "submit", value }, label);
