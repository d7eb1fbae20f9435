/** One task: what it is, its timeline through both zones, and what can be done about it. */
import { h, redraw } from "../../web/dom.js";
import { errorBox } from "../../web/server.js";
import { drawTimeline, durationText, fact } from "../../web/timeline.js";
import { nameAndId, onNames } from "./names.js";
import { act, ageOf, confirmed, count, read, repeat, shortId } from "./view.js";

const refreshMs = 5000;

const actions = {
  cancel: {
    label: "Cancel",
    title: "Cancel this task?",
    text: "The agent is asked to stop, and the thread says that the task was canceled. If a result arrives first, that is posted instead.",
    yes: "Cancel the task",
  },
  retry: {
    label: "Retry",
    title: "Retry this task?",
    text: "The agent runs again as a new task, with the message as it is in Slack now. Anything the first run did may happen twice.",
    yes: "Retry the task",
  },
  redrive: {
    label: "Deliver again",
    title: "Deliver the answer again?",
    text: "The answer is posted in its thread again. No agent runs.",
    yes: "Deliver the answer",
  },
};

export function taskView({ box, say, id, left }) {
  let known;
  let link;
  let isLinkWanted = true;
  const head = h("header.view-head", h("h2", `Task ${shortId(id)}`));
  const facts = h("dl.panel.facts");
  const states = h("div");
  const steps = h("ol.steps", { "aria-label": "Steps" });
  const note = h("p.soft");
  const record = h("pre");
  const problem = errorBox();
  const body = h(
    "div.task",
    { hidden: true },
    facts,
    states,
    h("section.panel", h("h3", "Timeline"), note, steps),
    h("details", h("summary.soft", "Stored record, without texts"), record),
  );
  box.append(h("a", { href: "#/tasks" }, "← Tasks"), head, problem.box, body);

  const refresh = () =>
    problem.attempt(async () => {
      known = await read(`tasks/${encodeURIComponent(id)}`);
      if (left.aborted) return;
      draw();
      if (isLinkWanted) void findLink();
      isLinkWanted = false;
    });

  /** Slack may take a while, so the rest of the view does not wait for it. */
  async function findLink() {
    ({ link } = await read(`tasks/${encodeURIComponent(id)}/link`).catch(() => ({})));
    if (link !== undefined && known !== undefined && !left.aborted) draw();
  }

  function draw() {
    const { row, task, timeline, whyNot } = known;
    body.hidden = false;
    const possible = Object.keys(actions).filter((name) => whyNot[name] === undefined);
    redraw(head, [
      h(
        "div",
        h("h2", "Task ", h("code", row.id)),
        h(`p.result.${row.kind}`, h("strong.state", row.state), ` ${row.text}`),
      ),
      h("div.tools", possible.map(drawAction)),
    ]);
    facts.replaceChildren(...drawFacts({ ...known, link }));
    states.replaceChildren(...drawStates({ history: task.history, isOver: row.state === "done" }));
    note.textContent = known.note ?? "";
    redraw(steps, drawTimeline({ steps: timeline, key: row.id }));
    record.textContent = JSON.stringify(task, null, 2);
  }

  function drawAction(name) {
    const properties = { "data-key": name, onclick: () => run(name) };
    return h(`button.${name === "cancel" ? "danger" : "quiet"}`, properties, actions[name].label);
  }

  async function run(name) {
    if (
      known === undefined ||
      known.whyNot[name] !== undefined ||
      !(await confirmed(actions[name]))
    )
      return;
    await problem.attempt(async () => {
      const { text, later, requestId } = await act(`tasks/${known.row.id}/${name}`);
      say([text, later].filter(Boolean).join(" "));
      if (requestId !== undefined) location.hash = `#/tasks/${requestId}`;
      else await refresh();
      if (later !== undefined) throw new Error(later);
    });
  }

  repeat(refreshMs, refresh, left);
  onNames(() => known !== undefined && draw(), left);
  return {
    title: `Task ${shortId(id)}`,
    draw(rows) {
      if (rows?.some((row) => row.id === (known?.row.id ?? id))) void refresh();
    },
    keys: {
      Escape() {
        location.hash = "#/tasks";
      },
      c: () => run("cancel"),
      r: () => run("retry"),
    },
  };
}

function drawFacts({ row, task: { message, call }, endedAtMs = Number.NaN, traceId, link }) {
  const tookMs = endedAtMs - row.receivedAtMs;
  const coming = (atMs) => row.state !== "done" && atMs !== undefined && ageOf(atMs, "coming");
  const calls = [
    row.polls > 0 && count(row.polls, "poll"),
    row.attempts > 0 && count(row.attempts, "failed attempt"),
  ];
  const parts = [
    count(message.textLength, "character"),
    message.files && count(message.files, "file"),
  ];
  const given = {
    Destination: row.destination,
    Person: nameAndId("users", row.user),
    Channel: nameAndId("channels", row.channel),
    Thread: link
      ? h("a", { href: link, target: "_blank", rel: "noreferrer" }, row.thread)
      : row.thread,
    Workspace: row.team,
    Asked: ageOf(row.receivedAtMs, "ago"),
    Took: tookMs >= 0 && durationText(tookMs),
    Deadline: coming(call?.deadlineAtMs),
    Expected: coming(row.nextAtMs),
    Calls: calls.filter(Boolean).join(", "),
    Votes: row.votes && `👍 ${row.votes.up}, 👎 ${row.votes.down}`,
    Message: parts.filter(Boolean).join(", "),
    "Execution zone task ID": row.taskId,
    Trace: traceId,
    "Retry of": row.retryOf && h("a", { href: `#/tasks/${row.retryOf}` }, shortId(row.retryOf)),
  };
  return Object.entries(given).flatMap(([name, value]) => (value ? [fact(name, value)] : []));
}

/** The time in each state, as parts of one bar. */
function drawStates({ history, isOver }) {
  const byState = new Map();
  for (const [index, { state, atMs }] of history.entries()) {
    const untilMs = history[index + 1]?.atMs ?? (isOver ? atMs : Date.now());
    if (state !== "done")
      byState.set(state, (byState.get(state) ?? 0) + Math.max(0, untilMs - atMs));
  }
  const parts = [...byState];
  if (parts.every(([, ms]) => ms === 0)) return [];
  const label = `Time in each state: ${parts.map(([state, ms]) => `${state} ${durationText(ms)}`).join(", ")}`;
  const bar = parts.map(([state, ms]) => {
    const part = h(`span.in-${state}`);
    part.style.flexGrow = ms;
    return part;
  });
  const legend = parts.map(([state, ms]) =>
    h(`li.in-${state}`, state, h("span.soft", ` ${durationText(ms)}`)),
  );
  return [h("div.bar", { role: "img", "aria-label": label }, bar), h("ul.legend", legend)];
}
