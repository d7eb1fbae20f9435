/** The page's own script: keeps what the event stream tells, and has it drawn. */

import { $, button, element, redraw } from "../../web/dom.js";
import { startComposer } from "./composer.js";
import { drawThreads } from "./draw-thread.js";
import { drawSteps, summaryOf } from "./draw-way.js";

const empty = () => ({
  messages: new Map(),
  ephemeralMessages: new Map(),
  statuses: new Map(),
  prompts: new Map(),
  steps: new Map(),
});
let known = empty();
let people = [];
let channels = [];
let channel;
let person;
let threadTs;
/** The request whose way is shown. */
let chosen;

const keyOf = ({ channel: where, ts, threadTs: thread }) => `${where}/${ts ?? thread}`;

const hearers = {
  reset(change) {
    known = empty();
    ({ people, channels } = change);
    chosen = undefined;
    person = people.some(({ id }) => id === person) ? person : people[0].id;
    channel = placesOf(person).some(({ id }) => id === channel) ? channel : channels[0].id;
    composer.say("");
    showConnection("connected", true);
    drawPlaces();
  },
  message({ message }) {
    const isNew = !known.messages.has(keyOf(message));
    // A new question is looked at; one that changes (a reaction) is not.
    if (isNew && message.author.kind === "person") chosen = message.requestId;
    // So is the thread that a slash command opens.
    if (isNew && message.author.kind === "bot" && message.threadTs === undefined) chosen = message.requestId ?? chosen;
    known.messages.set(keyOf(message), message);
  },
  removed: (change) => known.messages.delete(keyOf(change)),
  ephemeral: (change) => known.ephemeralMessages.set(keyOf(change), change),
  status: (change) => known.statuses.set(keyOf(change), change),
  prompts: (change) => known.prompts.set(keyOf(change), change),
  step({ step }) {
    known.steps.set(step.requestId, [...(known.steps.get(step.requestId) ?? []), step]);
  },
};

const composer = startComposer({
  where: () => ({ channel, threadTs, user: person }),
  leaveThread: () => replyIn(undefined),
});

const act = {
  show(requestId) {
    chosen = requestId;
    requestDraw();
  },
  reply: replyIn,
  clickButton: composer.clickButton,
  ask(text, thread) {
    replyIn(thread);
    void composer.send(text);
  },
};

const source = new EventSource("/local/events");
source.onerror = () => {
  const isRefused = source.readyState === EventSource.CLOSED;
  showConnection(isRefused ? "open the address that npm start printed" : "not connected; trying again", false);
};
source.onmessage = ({ data }) => {
  const change = JSON.parse(data);
  hearers[change.type]?.(change);
  requestDraw();
};

let isDrawPending = false;
function requestDraw() {
  if (isDrawPending) return;
  isDrawPending = true;
  requestAnimationFrame(() => {
    isDrawPending = false;
    draw();
  });
}

function draw() {
  const steps = known.steps.get(chosen) ?? [];
  const lists = Object.fromEntries(
    ["messages", "ephemeralMessages", "statuses", "prompts"].map((n) => [n, [...known[n].values()]]),
  );
  keepingEnd($("messages"), () => redraw($("messages"), drawThreads({ ...lists, channel, chosen, person, act })));
  keepingEnd($("steps"), () => redraw($("steps"), drawSteps({ steps, chosen })));
  $("summary").replaceChildren(...summaryOf({ steps, chosen }));
}

/** An image takes its room when it is there. */
$("messages").addEventListener("load", () => keepingEnd($("messages"), () => {}, 300), { capture: true });

/** Who looks at the end goes on looking at the end. */
function keepingEnd(box, change, nearPx = 80) {
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx;
  const { scrollTop } = box;
  change();
  box.scrollTop = isAtEnd ? box.scrollHeight : scrollTop;
}

function showConnection(text, isOn) {
  $("connection").textContent = text;
  $("connection").classList.toggle("on", isOn);
}

function placesOf(who) {
  return channels.filter((place) => place.people.includes(who));
}

function drawPlaces() {
  const drawn = placesOf(person).map(({ id, name, direct }) => {
    const label = direct ? "Direct" : `# ${name}`;
    const made = button({ className: "", label, key: `place/${id}`, onClick: () => goTo(id) });
    made.setAttribute("aria-pressed", String(id === channel));
    return made;
  });
  redraw($("channels"), drawn);
  const options = people.map(({ id, name, locale }) => {
    const option = element("option", "", `${name} · ${locale.slice(0, 2)}`);
    option.value = id;
    option.selected = id === person;
    return option;
  });
  $("person").replaceChildren(...options);
}

function goTo(place) {
  channel = place;
  replyIn(undefined);
  drawPlaces();
  draw();
  $("messages").scrollTop = $("messages").scrollHeight;
}

function replyIn(ts) {
  threadTs = ts;
  $("replying").hidden = ts === undefined;
  $("text").focus();
}

$("person").onchange = ({ target }) => {
  person = target.value;
  const places = placesOf(person);
  goTo(places.some(({ id }) => id === channel) ? channel : places[0].id);
};
$("converse").onclick = async () => {
  const opened = await composer.converse();
  if (opened === undefined) return;
  goTo(opened.channel);
  replyIn(opened.thread_ts);
};
