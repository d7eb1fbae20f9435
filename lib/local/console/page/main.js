/** The operators' page: which view is shown, and the keys that work everywhere. */
import { $ } from "../../web/dom.js";
import { act } from "../../web/server.js";
import { deadLettersView } from "./dead-letters-view.js";
import { destinationsView } from "./destinations-view.js";
import { listView } from "./list-view.js";
import { startLive } from "./live.js";
import { taskView } from "./task-view.js";
import { read, showKeys, tick } from "./view.js";

const views = [
  { pattern: /^#\/tasks\/([^/%]+)$/, open: taskView, nav: "#/tasks" },
  { pattern: /^#\/destinations$/, open: destinationsView, nav: "#/destinations" },
  { pattern: /^#\/dead-letters$/, open: deadLettersView, nav: "#/dead-letters" },
  { pattern: /(?:)/, open: listView, nav: "#/tasks" },
];
let view;
let leaving = new AbortController();

const writeInto = (id) => (text) => {
  if ($(id).textContent !== text) $(id).textContent = text;
};
const say = writeInto("announcer");
const live = startLive({
  changed: (rows) => view?.draw?.(rows),
  trouble: writeInto("trouble"),
  announce: say,
});

/** `left` is aborted when the view is left. */
function show() {
  leaving.abort();
  leaving = new AbortController();
  const { pattern, open, nav } = views.find((candidate) => candidate.pattern.test(location.hash));
  const [, id] = pattern.exec(location.hash) ?? [];
  $("view").replaceChildren();
  view = open({ box: $("view"), live, say, id, left: leaving.signal });
  document.title = `${view.title} · Sekisho operators`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === nav) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view.arrive === undefined) $("view").focus();
  else view.arrive();
  scrollTo(0, 0);
}

const goTo = (hash) => () => {
  location.hash = hash;
};
const keys = {
  "?": showKeys,
  1: goTo("#/tasks"),
  2: goTo("#/destinations"),
  3: goTo("#/dead-letters"),
  "/": goTo("#/tasks"),
};

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping || $("dialog").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const pressed = view?.keys?.[event.key] ?? keys[event.key];
  if (pressed === undefined) return;
  event.preventDefault();
  pressed();
});

const reportEveryMs = 60_000;
let reportedAtMs = 0;

/** Reports activity to the server. Automatic updates of the page do not count, so the session of an idle person ends. */
function reportActivity() {
  if (Date.now() - reportedAtMs < reportEveryMs) return;
  reportedAtMs = Date.now();
  read("where", { "x-operator-active": "1" }).catch(() => {});
}

$("keys").onclick = showKeys;
$("sign-out").onclick = async () => {
  await act("/operate/sign-out").catch(() => {});
  location.replace("/operate/sign-in");
};
for (const name of ["keydown", "pointerdown", "wheel"])
  addEventListener(name, reportActivity, { passive: true });
addEventListener("hashchange", show);
setInterval(tick, 1000);
show();
const { name, signsIn } = await read("where").catch(() => ({ name: "", signsIn: false }));
$("where").textContent = name;
$("sign-out").hidden = !signsIn;
