/** The local page: keeps the state that the server sends, and draws it. */
import { $, h, redraw, showConnection } from "../../web/dom.js";
import { listen } from "../../web/server.js";
import { drawTimeline } from "../../web/timeline.js";
import { startComposer } from "./composer.js";
import { drawThreads } from "./draw-thread.js";
import { showModal } from "./modal.js";

const empty = () => ({
  messages: new Map(),
  ephemeralMessages: new Map(),
  statuses: new Map(),
  prompts: new Map(),
  /** By person. */
  modals: new Map(),
  steps: new Map(),
});
let known = empty();
let people = [];
let channels = [];
let channel;
let person;
let threadTs;
/** The request whose timeline is shown. */
let chosen;

const keyOf = ({ channel: where, ts, threadTs: thread }) => `${where}/${ts ?? thread}`;

const onEvent = {
  reset(change) {
    known = empty();
    ({ people, channels } = change);
    chosen = undefined;
    person = people.some(({ id }) => id === person) ? person : people[0].id;
    channel = channelsOf(person).some(({ id }) => id === channel) ? channel : channels[0].id;
    showConnection("connected", true);
    drawChannels();
  },
  message({ message }) {
    const isNew = !known.messages.has(keyOf(message));
    const isPerson = message.author.kind === "person";
    // A new question selects its task, and so does the thread that a slash command opens. A change such as a reaction does not.
    if (isNew && (isPerson || message.threadTs === undefined)) chosen = message.requestId ?? chosen;
    known.messages.set(keyOf(message), message);
  },
  removed: (change) => known.messages.delete(keyOf(change)),
  ephemeral: (change) => known.ephemeralMessages.set(keyOf(change), change),
  status: (change) => known.statuses.set(keyOf(change), change),
  prompts: (change) => known.prompts.set(keyOf(change), change),
  modal: ({ user, modal }) =>
    modal === undefined ? known.modals.delete(user) : known.modals.set(user, modal),
  step({ step }) {
    known.steps.set(step.requestId, [...(known.steps.get(step.requestId) ?? []), step]);
  },
};

const composer = startComposer({
  where: () => ({ channel, threadTs, user: person }),
  conversations: () =>
    channelsOf(person).map((each) => ({ channel: each.id, label: labelOf(each) })),
  leaveThread: () => replyIn(undefined),
  goTo,
});

const act = {
  show(requestId) {
    chosen = requestId;
    requestDraw();
  },
  reply: replyIn,
  clickButton: composer.clickButton,
  askAbout: composer.askAbout,
  forward: composer.forward,
  ask(text) {
    replyIn(undefined);
    void composer.send(text);
  },
};

listen("/local/events", {
  onEvent(change) {
    onEvent[change.type]?.(change);
    requestDraw();
  },
  onState(state) {
    if (state === "off") showConnection("reconnecting…", false);
    if (state === "refused") showConnection("open the address that sekisho start printed", false);
  },
});

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
  const [messages, ephemeralMessages, statuses, prompts] = [
    ...[known.messages, known.ephemeralMessages, known.statuses, known.prompts].map((map) => [
      ...map.values(),
    ]),
  ];
  const shown = { messages, ephemeralMessages, statuses, prompts, channel, chosen, person, act };
  keepingEnd($("messages"), () => redraw($("messages"), drawThreads(shown)));
  keepingEnd($("steps"), () => redraw($("steps"), drawTimeline({ steps, key: chosen })));
  $("summary").replaceChildren(...summaryOf(steps));
  showModal(known.modals.get(person));
}

function summaryOf(steps) {
  if (chosen === undefined) return ["Send a message to see every step of its task."];
  const named = h("span", { title: chosen }, `Request ${chosen.slice(0, 8)}`);
  if (steps.length === 0) return [named, " · no steps recorded since the server started"];
  const last = steps.findLast(({ zone }) => zone === "verification");
  const state = last?.title.split(" → ").at(-1) ?? "sent";
  const hasFailed = steps.some(({ failed }) => failed);
  const where = hasFailed ? h("span.chip.bad", `${state}, failed`) : state;
  const tookMs = steps.at(-1).atMs - steps[0].atMs;
  return [
    named,
    " · ",
    where,
    ` · ${steps.length} ${steps.length === 1 ? "step" : "steps"} in ${(tookMs / 1000).toFixed(3)} s`,
  ];
}

// An image has no height until it has loaded.
$("messages").addEventListener("load", () => keepingEnd($("messages"), () => {}, 300), {
  capture: true,
});

/** Keeps the end in view for somebody who is looking at it. */
function keepingEnd(box, change, nearPx = 80) {
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx;
  const { scrollTop } = box;
  change();
  box.scrollTop = isAtEnd ? box.scrollHeight : scrollTop;
}

function channelsOf(who) {
  return channels.filter((each) => each.people.includes(who));
}

function labelOf({ name, direct }) {
  return direct ? "Direct" : `# ${name}`;
}

function drawChannels() {
  const drawn = channelsOf(person).map((each) => {
    const { id } = each;
    const state = { "aria-pressed": String(id === channel), "data-key": `channel/${id}` };
    return h("button", { ...state, onclick: () => visit(each) }, labelOf(each));
  });
  redraw($("channels"), drawn);
  // Other apps do not write in direct messages with the bot.
  $("alert").disabled = channels.find(({ id }) => id === channel).direct;
  const options = people.map(({ id, name, locale }) =>
    h("option", { value: id, selected: id === person }, `${name} · ${locale.slice(0, 2)}`),
  );
  $("person").replaceChildren(...options);
}

/** Slack notifies the bot when somebody opens the direct messages with it, and the bot may suggest prompts. */
function visit({ id, direct }) {
  goTo(id);
  if (direct) void composer.openDirectMessages();
}

function goTo(id) {
  channel = id;
  replyIn(undefined);
  drawChannels();
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
  const own = channelsOf(person);
  goTo(own.some(({ id }) => id === channel) ? channel : own[0].id);
};
