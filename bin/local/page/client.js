/** The page's own script: keeps what the event stream tells, and draws it. All text goes in as text, never as HTML. */

const suggestions = ["What is a sekisho?", "slow 5s", "progress", "fail", "slow 3s fail"];
const emoji = { eyes: "👀" };
const zones = {
  event: "Slack → ingress",
  claim: "worker",
  decision: "worker",
  request: "to the Execution zone",
  response: "from the Execution zone",
  delivery: "worker → Slack",
};

const $ = (id) => document.getElementById(id);
let workspace;
let place = "channel";
let threadTs;
let chosen;
let messages = new Map();
let stepsByTask = new Map();
/** Which steps are open, so that drawing again does not close them. */
const opened = new Set();

const source = new EventSource("/local/events");
source.onerror = () => showConnection("not connected; trying again", false);
source.onmessage = ({ data }) => {
  const change = JSON.parse(data);
  if (change.type === "reset") {
    workspace = change.workspace;
    messages = new Map();
    stepsByTask = new Map();
    chosen = undefined;
    $("problem").textContent = "";
    showConnection("connected", true);
  } else if (change.type === "message") {
    const key = `${change.message.channel}/${change.message.ts}`;
    // A new question is looked at; one that changes (a reaction) is not.
    if (change.message.user === workspace.person && !messages.has(key)) chosen = change.message.requestId;
    messages.set(key, change.message);
  } else if (change.type === "removed") {
    messages.delete(`${change.channel}/${change.ts}`);
  } else {
    const { requestId } = change.step;
    stepsByTask.set(requestId, [...(stepsByTask.get(requestId) ?? []), change.step]);
  }
  requestDraw();
};

let isDrawPending = false;
function requestDraw() {
  if (isDrawPending) return;
  isDrawPending = true;
  requestAnimationFrame(() => {
    isDrawPending = false;
    drawMessages();
    drawSteps();
  });
}

function showConnection(text, isOn) {
  $("connection").textContent = text;
  $("connection").classList.toggle("on", isOn);
}

function drawMessages() {
  const box = $("messages");
  const inPlace = [...messages.values()].filter(({ channel }) => channel === workspace[place].id);
  const roots = inPlace.filter((message) => message.threadTs === undefined);
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  const threads = roots.map((root) => {
    const replies = inPlace.filter((message) => message.threadTs === root.ts);
    const hasChosen = [root, ...replies].some((message) => message.requestId === chosen);
    const thread = element("article", `thread${hasChosen ? " chosen" : ""}`, drawMessage(root));
    if (replies.length > 0) thread.append(element("div", "replies", ...replies.map(drawMessage)));
    const answer = element("button", "link", "Reply in thread");
    answer.type = "button";
    answer.onclick = () => replyIn(root.ts);
    thread.append(element("div", "under", answer));
    return thread;
  });
  const empty = "Nobody has written here yet. Try one of the examples below.";
  box.replaceChildren(...(threads.length > 0 ? threads : [element("p", "empty", empty)]));
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

function drawMessage({ user, ts, text, edited, reactions, requestId }) {
  const isBot = user === workspace.botUser;
  const who = element("div", "who", isBot ? "Sekisho" : "You");
  if (isBot) who.append(element("span", "app", "APP"));
  who.append(element("small", "", new Date(Number(ts) * 1000).toLocaleTimeString(), edited ? " (edited)" : ""));
  const under = element("div", "under");
  for (const name of reactions) under.append(element("span", "reaction", emoji[name] ?? `:${name}:`));
  if (!isBot && requestId !== undefined && requestId !== chosen) {
    const show = element("button", "link", "Show its way");
    show.type = "button";
    show.onclick = () => {
      chosen = requestId;
      requestDraw();
    };
    under.append(show);
  }
  const avatar = element("div", `avatar${isBot ? " bot" : ""}`, isBot ? "S" : "Y");
  avatar.setAttribute("aria-hidden", "true");
  return element("div", "message", avatar, who, element("div", "text", ...formatted(text)), under);
}

/** Slack's mrkdwn, as far as it is met here: code blocks, code, bold, italic, mentions, and the three entities. */
function formatted(text) {
  return text
    .split(/(```[\s\S]*?```|`[^`\n]+`|<@[A-Z0-9]+>|(?<!\w)\*[^*\n]+\*(?!\w)|(?<!\w)_[^_\n]+_(?!\w))/)
    .map((piece) => {
      if (piece.startsWith("```") && piece.length > 5) return element("pre", "", unescaped(piece.slice(3, -3).trim()));
      if (/^`.+`$/.test(piece)) return element("code", "", unescaped(piece.slice(1, -1)));
      if (piece.startsWith("<@"))
        return element("span", "mention", piece.includes(workspace.botUser) ? "@Sekisho" : piece);
      if (/^\*.+\*$/.test(piece)) return element("strong", "", unescaped(piece.slice(1, -1)));
      if (/^_.+_$/.test(piece)) return element("em", "", unescaped(piece.slice(1, -1)));
      return unescaped(piece);
    });
}

function unescaped(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function drawSteps() {
  const steps = stepsByTask.get(chosen) ?? [];
  const first = steps[0]?.atMs ?? 0;
  const list = $("steps");
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  list.replaceChildren(...steps.map((step, index) => drawStep(step, index, first)));
  if (isAtEnd) list.scrollTop = list.scrollHeight;
  $("summary").replaceChildren(...summaryOf(steps, first));
}

function summaryOf(steps, first) {
  if (chosen === undefined) return ["Send a message and watch it pass the checkpoint."];
  if (steps.length === 0) return [`Request ${chosen} · nothing since the server started`];
  const last = steps.at(-1);
  const state = steps
    .findLast(({ kind }) => kind === "claim" || kind === "decision")
    ?.title.split(" → ")
    .at(-1);
  const hasFailed = steps.some(({ failed }) => failed);
  const where = element("span", hasFailed ? "failed" : "", `${state ?? "on its way"}${hasFailed ? ", failed" : ""}`);
  return [`Request ${chosen} · `, where, ` · ${steps.length} steps in ${seconds(last.atMs - first)}`];
}

function drawStep({ kind, title, detail, atMs, failed }, index, first) {
  const key = `${chosen}/${index}`;
  const summary = element("summary", "", title, outcomeOf(kind, detail), element("span", "kind", zones[kind] ?? kind));
  const details = element("details", "", summary);
  if (detail !== undefined) details.append(element("pre", "", JSON.stringify(detail, null, 2)));
  details.open = opened.has(key);
  details.ontoggle = () => (details.open ? opened.add(key) : opened.delete(key));
  const time = element("time", "", `+${seconds(atMs - first)}`);
  return element("li", `step ${kind}${failed ? " failed" : ""}`, time, element("span", "dot"), details);
}

/** What a JSON-RPC response comes to, so that it can be read without opening it. */
function outcomeOf(kind, detail) {
  if (kind !== "response") return "";
  const good = detail?.result?.status;
  const outcome = good ?? detail?.error?.data?.reason ?? detail?.failed ?? detail?.error?.message;
  return outcome === undefined ? "" : element("span", `outcome${good === undefined ? " failed" : ""}`, outcome);
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(3)} s`;
}

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...children);
  return made;
}

function replyIn(ts) {
  threadTs = ts;
  $("replying").hidden = ts === undefined;
  $("text").focus();
}

async function send(text) {
  $("problem").textContent = "";
  const body = { text, channel: workspace[place].id, ...(threadTs === undefined ? {} : { thread_ts: threadTs }) };
  const headers = { "content-type": "application/json" };
  const sent = fetch("/local/messages", { method: "POST", headers, body: JSON.stringify(body) });
  const problem = await sent.then(
    async (response) => (response.ok ? "" : `Not sent: ${await response.text()}`),
    () => "Not sent: is npm start still running?",
  );
  $("problem").textContent = problem;
  return problem === "";
}

$("composer").onsubmit = async (event) => {
  event.preventDefault();
  const text = $("text").value.trim();
  if (text === "") return;
  // At once: what is typed meanwhile stays, and a second Enter does not send it again.
  $("text").value = "";
  if (!(await send(text))) $("text").value = [text, $("text").value].filter(Boolean).join("\n");
};
$("text").onkeydown = (event) => {
  // While an input method composes (Japanese), Enter is its own.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("composer").requestSubmit();
};
$("stop-replying").onclick = () => replyIn(undefined);
for (const button of document.querySelectorAll("[data-place]")) {
  button.onclick = () => {
    place = button.dataset.place;
    for (const other of document.querySelectorAll("[data-place]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    replyIn(undefined);
    requestDraw();
  };
}
for (const text of suggestions) {
  const button = element("button", "", text);
  button.type = "button";
  button.onclick = () => send(text);
  $("suggestions").append(button);
}
$("text").focus();
