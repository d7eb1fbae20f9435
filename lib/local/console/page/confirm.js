/** Asks before something is done: what it is, and what follows. */
import { $, element } from "../../web/dom.js";

/** Resolves to whether the person wants it. Escape means no. */
export function confirmed({ title, text, yes }) {
  const dialog = $("dialog");
  const { promise, resolve } = Promise.withResolvers();
  const no = answer("Leave it", "quiet", "no");
  dialog.replaceChildren(
    heading(title),
    element("p", "", text),
    element("form", "answers", no, answer(yes, "primary", "yes")),
  );
  dialog.querySelector("form").method = "dialog";
  dialog.onclose = () => resolve(dialog.returnValue === "yes");
  dialog.returnValue = "";
  dialog.showModal();
  no.focus();
  return promise;
}

const keys = [
  ["j  k  ↓  ↑", "the next and the previous task"],
  ["Enter", "open it"],
  ["Esc", "back to the list; out of the filter"],
  ["/", "filter"],
  ["c", "cancel the task that is open"],
  ["r", "retry it"],
  ["1  2  3", "tasks, destinations, dead letters"],
  ["?", "these keys"],
];

export function showKeys() {
  const dialog = $("dialog");
  const rows = keys.flatMap(([key, what]) => [element("dt", "", ...key.split("  ").map(kbd)), element("dd", "", what)]);
  dialog.replaceChildren(
    heading("Keys"),
    element("dl", "keys", ...rows),
    element("form", "answers", answer("Close", "primary", "")),
  );
  dialog.querySelector("form").method = "dialog";
  dialog.onclose = null;
  dialog.showModal();
}

const kbd = (key) => element("kbd", "", key);

function heading(text) {
  const made = element("h2", "", text);
  made.id = "dialog-title";
  return made;
}

function answer(label, className, value) {
  const made = element("button", className, label);
  made.value = value;
  return made;
}
