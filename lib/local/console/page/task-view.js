/** One task: what it is, its way through both zones, and what can be done about it. */
import { button, element, redraw } from "../../web/dom.js";
import { act, read } from "./api.js";
import { confirmed } from "./confirm.js";
import { drawStates, drawWay } from "./way.js";
import { ageOf, count, durationText, shortId } from "./words.js";

const refreshMs = 5000;

const deeds = {
  cancel: {
    label: "Cancel",
    title: "Cancel this task?",
    text: "The Execution zone is told, the agent is stopped, and the thread reads that it was canceled. A result that comes first is the answer.",
    yes: "Cancel the task",
  },
  retry: {
    label: "Retry",
    title: "Do it once more?",
    text: "Its agent runs again, as a new task, with what is in Slack now. Whatever it did the first time, it may do a second time.",
    yes: "Run the agent again",
  },
  redrive: {
    label: "Deliver again",
    title: "Deliver the answer again?",
    text: "The answer is brought into its thread once more. No agent runs.",
    yes: "Deliver it",
  },
};

export function taskView({ box, say, id }) {
  let known;
  let hasLeft = false;
  const back = element("a", "back", "← Tasks");
  back.href = "#/tasks";
  const head = element("header", "task-head");
  const facts = element("dl", "facts");
  const states = element("div", "states");
  const way = element("ol", "steps");
  way.setAttribute("aria-label", "Steps");
  const note = element("p", "note");
  const record = element("pre", "");
  const problem = element("p", "problem");
  problem.setAttribute("role", "alert");
  const body = element(
    "div",
    "task-body",
    facts,
    states,
    element("section", "way", element("h3", "", "Its way"), note, way),
    element("details", "record", element("summary", "", "The record, without its texts"), record),
  );
  body.hidden = true;
  box.replaceChildren(back, head, problem, body);

  async function refresh() {
    try {
      known = await read(`tasks/${encodeURIComponent(id)}`);
      if (!hasLeft) draw();
    } catch (error) {
      if (hasLeft) return;
      if (known === undefined) head.replaceChildren(element("h2", "", `Task ${shortId(id)}`));
      problem.textContent = error.message;
    }
  }

  function draw() {
    const { row, task, picture } = known;
    body.hidden = false;
    problem.textContent = "";
    redraw(head, [
      element("h2", "", "Task ", element("code", "", row.id)),
      element("p", `result ${row.kind}`, element("span", "state", row.state), ` ${row.words}`),
      element("div", "deeds", ...Object.keys(deeds).flatMap(deedButton)),
    ]);
    facts.replaceChildren(...factsOf(known));
    states.replaceChildren(...drawStates({ history: task.history, isOver: row.state === "done" }));
    note.textContent = known.note ?? "";
    redraw(way, drawWay({ steps: picture?.steps ?? [], key: row.id }));
    record.textContent = JSON.stringify(task, null, 2);
  }

  function deedButton(name) {
    if (known.whyNot[name] !== undefined) return [];
    return [
      button({
        className: name === "cancel" ? "danger" : "quiet",
        label: deeds[name].label,
        key: name,
        onClick: () => ask(name),
      }),
    ];
  }

  async function ask(name) {
    if (known === undefined || known.whyNot[name] !== undefined || !(await confirmed(deeds[name]))) return;
    try {
      const { words, later, requestId } = await act(`tasks/${known.row.id}/${name}`);
      say([words, later].filter(Boolean).join(" "));
      if (requestId !== undefined) location.hash = `#/tasks/${requestId}`;
      else await refresh();
      if (later !== undefined) problem.textContent = later;
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  const timer = setInterval(() => document.visibilityState === "visible" && refresh(), refreshMs);
  void refresh();
  return {
    title: `Task ${shortId(id)}`,
    draw(rows) {
      if (rows?.some((row) => row.id === (known?.row.id ?? id))) void refresh();
    },
    keys: {
      Escape: () => {
        location.hash = "#/tasks";
      },
      c: () => ask("cancel"),
      r: () => ask("retry"),
    },
    leave() {
      hasLeft = true;
      clearInterval(timer);
    },
  };
}

function factsOf({ row, task, picture }) {
  const { message } = task;
  const words = (value) => (value === undefined ? undefined : String(value));
  const tookMs = picture?.endedAtMs === undefined ? undefined : picture.endedAtMs - row.receivedAtMs;
  const given = [
    ["Destination", row.destination],
    ["Person", row.user],
    ["Channel", row.channel],
    ["Thread", row.thread],
    ["Workspace", row.team],
    ["Asked", ageOf(row.receivedAtMs)],
    ["Took", tookMs === undefined || tookMs < 0 ? undefined : durationText(tookMs)],
    [
      "Deadline",
      row.state === "done" || task.call?.deadlineAtMs === undefined
        ? undefined
        : ageOf(task.call.deadlineAtMs, { coming: true }),
    ],
    [
      "Expected",
      row.state === "done" || row.nextAtMs === undefined ? undefined : ageOf(row.nextAtMs, { coming: true }),
    ],
    [
      "Calls",
      [row.polls > 0 && count(row.polls, "poll"), row.attempts > 0 && count(row.attempts, "failed attempt")]
        .filter(Boolean)
        .join(", ") || undefined,
    ],
    [
      "Message",
      [count(message.textLength, "character"), message.files && count(message.files, "file")]
        .filter(Boolean)
        .join(", "),
    ],
    ["Task id there", words(row.taskId)],
    ["Trace", picture?.traceId],
    ["Retry of", row.retryOf && retryLink(row.retryOf)],
  ];
  return given
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => element("div", "", element("dt", "", name), element("dd", "", value)));
}

function retryLink(id) {
  const link = element("a", "", shortId(id));
  link.href = `#/tasks/${id}`;
  return link;
}
