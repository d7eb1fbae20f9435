/** The operators' page: which view is shown, and the keys that work everywhere. */
import { $ } from "../../web/dom.js";
import { read, tellActivity } from "./api.js";
import { showKeys } from "./confirm.js";
import { destinationsView } from "./destinations-view.js";
import { lettersView } from "./letters-view.js";
import { listView } from "./list-view.js";
import { startLive } from "./live.js";
import { taskView } from "./task-view.js";
import { tick } from "./words.js";

const views = [
  { pattern: /^#\/tasks\/([^/%]+)$/, open: taskView, nav: "#/tasks" },
  { pattern: /^#\/destinations$/, open: destinationsView, nav: "#/destinations" },
  { pattern: /^#\/dead-letters$/, open: lettersView, nav: "#/dead-letters" },
  { pattern: /(?:)/, open: listView, nav: "#/tasks" },
];
let view;

const say = (words) => {
  $("announcer").textContent = words;
};
const live = startLive({
  changed: (rows) => view?.draw?.(rows),
  connection(text, isOn) {
    $("connection").textContent = text;
    $("connection").classList.toggle("on", isOn);
  },
  trouble(words) {
    if ($("trouble").textContent !== words) $("trouble").textContent = words;
    $("trouble").hidden = words === "";
  },
  announce: say,
});

function show() {
  view?.leave();
  const { pattern, open, nav } = views.find((candidate) => candidate.pattern.test(location.hash));
  const [, id] = pattern.exec(location.hash) ?? [];
  $("view").replaceChildren();
  view = open({ box: $("view"), live, say, id });
  document.title = `${view.title} · Sekisho operators`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === nav) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view.arrive === undefined) $("view").focus();
  else view.arrive();
  scrollTo(0, 0);
}

const everywhere = {
  "?": showKeys,
  1: () => go("#/tasks"),
  2: () => go("#/destinations"),
  3: () => go("#/dead-letters"),
  "/": () => go("#/tasks"),
};

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping || $("dialog").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = view?.keys?.[event.key] ?? everywhere[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});

function go(hash) {
  location.hash = hash;
}

$("keys").onclick = showKeys;
$("sign-out").onclick = async () => {
  await fetch("/operate/sign-out", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  location.replace("/operate/sign-in");
};
for (const name of ["keydown", "pointerdown", "wheel"]) addEventListener(name, tellActivity, { passive: true });
addEventListener("hashchange", show);
setInterval(tick, 1000);
show();
const { name, signsIn } = await read("where").catch(() => ({ name: "", signsIn: false }));
$("where").textContent = name;
$("sign-out").hidden = !signsIn;
