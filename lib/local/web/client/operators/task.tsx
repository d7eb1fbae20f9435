/** One task: what it is, its timeline through both zones, and what can be done about it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatDuration } from "../../duration.ts";
import type {
  ActionResult,
  TaskAction,
  TaskDetail,
  TaskRow,
  ThreadLink,
} from "../../operators-api.ts";
import { Button, Problem } from "../elements.tsx";
import { ServerError } from "../server.ts";
import { Age, useNow } from "../time.tsx";
import { Timeline } from "../timeline.tsx";
import { useNames } from "./names.ts";
import {
  act,
  count,
  goTo,
  read,
  shortId,
  useKeys,
  usePage,
  useProblem,
  useRepeat,
} from "./page.tsx";

const refreshMs = 5000;

const actions = {
  cancel: {
    label: "Cancel",
    look: "danger",
    title: "Cancel this task?",
    text: "The agent is asked to stop, and the thread says that the task was canceled. If a result arrives first, that is posted instead.",
    yes: "Cancel the task",
  },
  retry: {
    label: "Retry",
    look: "quiet",
    title: "Retry this task?",
    text: "The agent runs again as a new task, with the message as it is in Slack now. Anything the first run did may happen twice.",
    yes: "Retry the task",
  },
  redrive: {
    label: "Deliver again",
    look: "quiet",
    title: "Deliver the answer again?",
    text: "The answer is posted in its thread again. No agent runs.",
    yes: "Deliver the answer",
  },
} as const satisfies Record<TaskAction, object>;

/** `rows` are the live list's, which say that the task has changed. */
export function TaskView({ id, rows }: { id: string; rows: ReadonlyMap<string, TaskRow> }) {
  const { announce, confirm } = usePage();
  const { problem, attempt } = useProblem();
  const [detail, setDetail] = useState<TaskDetail>();
  const [missing, setMissing] = useState("");
  const [notice, setNotice] = useState("");

  const refresh = () =>
    attempt(async () => {
      try {
        setDetail(await read<TaskDetail>(`tasks/${encodeURIComponent(id)}`));
        setMissing("");
      } catch (error) {
        if (!(error instanceof ServerError) || error.status !== 404) throw error;
        setDetail(undefined);
        setMissing(error.message);
      }
    });
  useRepeat(refreshMs, refresh);
  const liveRow = rows.get(detail?.row.id ?? id);
  const shownRow = useRef(liveRow);
  useEffect(() => {
    if (shownRow.current !== liveRow) void refresh();
    shownRow.current = liveRow;
  }, [liveRow]);

  async function run(name: TaskAction): Promise<void> {
    if (detail === undefined || detail.whyNot[name] !== undefined) return;
    if (!(await confirm(actions[name]))) return;
    await attempt(async () => {
      const { text, later, requestId } = await act<ActionResult>(`tasks/${detail.row.id}/${name}`);
      announce([text, later].filter(Boolean).join(" "));
      setNotice(later ?? "");
      // A task that begins later is not there yet.
      if (requestId !== undefined && later === undefined) goTo(`#/tasks/${requestId}`);
      else await refresh();
    });
  }
  useKeys({ Escape: () => goTo("#/tasks"), c: () => run("cancel"), r: () => run("retry") });

  return (
    <>
      <a class="back" href="#/tasks">
        ← Tasks
      </a>
      <header class="view-head">
        <div>
          <h2>
            Task <code>{detail?.row.id ?? id}</code>
          </h2>
          {detail !== undefined && (
            <p class={`result ${detail.row.kind}`}>
              <strong class="state">{detail.row.state}</strong> {detail.row.text}
            </p>
          )}
        </div>
        <div class="tools">
          {(Object.keys(actions) as TaskAction[])
            .filter((name) => detail !== undefined && detail.whyNot[name] === undefined)
            .map((name) => (
              <Button key={name} look={actions[name].look} onClick={() => run(name)}>
                {actions[name].label}
              </Button>
            ))}
        </div>
      </header>
      <Problem text={problem} />
      {notice !== "" && <p class="problem">{notice}</p>}
      {missing !== "" && <Missing text={missing} />}
      {detail !== undefined && <Detail detail={detail} />}
    </>
  );
}

/** The text names the id, and where it was looked for. */
function Missing({ text }: { text: string }) {
  return (
    <div class="panel none">
      <p class="lines">{text}</p>
      <p>A task that was asked for a moment ago appears here within seconds.</p>
    </div>
  );
}

function Detail({ detail }: { detail: TaskDetail }) {
  const { row, task, timeline, note } = detail;
  return (
    <div class="task">
      <Facts detail={detail} />
      <States history={task.history} isOver={row.state === "done"} />
      <section class="panel">
        <h3>Timeline</h3>
        {note !== undefined && <p class="soft">{note}</p>}
        <Timeline steps={timeline} taskId={row.id} />
      </section>
      <details>
        <summary class="soft">Stored record, without texts</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
        <pre tabIndex={0}>{JSON.stringify(task, null, 2)}</pre>
      </details>
    </div>
  );
}

/** Slack may take a while, so the rest of the view does not wait for it. */
function useThreadLink(id: string): string | undefined {
  const [link, setLink] = useState<string>();
  useEffect(() => {
    read<ThreadLink>(`tasks/${id}/link`).then(
      (answer) => setLink(answer.link),
      () => {},
    );
  }, [id]);
  return link;
}

function Facts({ detail: { row, task, endedAtMs, traceId } }: { detail: TaskDetail }) {
  const { message, call } = task;
  const nameOf = useNames();
  const link = useThreadLink(row.id);
  const nameAndId = (kind: "users" | "channels", id: string) => {
    const name = nameOf(kind, id);
    return name === undefined ? id : `${name} (${id})`;
  };
  const coming = (atMs: number | undefined) =>
    row.state !== "done" && atMs !== undefined && <Age atMs={atMs} form="coming" />;
  const calls = [
    row.polls > 0 && count(row.polls, "poll"),
    row.attempts > 0 && count(row.attempts, "failed attempt"),
  ];
  const parts = [
    count(message.textLength, "character"),
    message.files !== undefined && message.files > 0 && count(message.files, "file"),
  ];
  const facts: Readonly<Record<string, ComponentChildren>> = {
    Destination: row.destination,
    Person: nameAndId("users", row.user),
    Channel: nameAndId("channels", row.channel),
    Workspace: row.team,
    Asked: <Age atMs={row.receivedAtMs} form="ago" />,
    Took: endedAtMs !== undefined && formatDuration(Math.max(0, endedAtMs - row.receivedAtMs)),
    Deadline: coming(call?.deadlineAtMs),
    [row.state === "asking" ? "Question ends" : "Next poll"]: coming(row.nextAtMs),
    Calls: calls.filter(Boolean).join(", "),
    Votes: row.votes && `👍 ${row.votes.up}, 👎 ${row.votes.down}`,
    Message: parts.filter(Boolean).join(", "),
    Thread: link ? (
      <a href={link} target="_blank" rel="noreferrer">
        <code>{row.thread}</code>
      </a>
    ) : (
      <code>{row.thread}</code>
    ),
    "Execution zone task ID": row.taskId && <code>{row.taskId}</code>,
    Trace: traceId && <code>{traceId}</code>,
    "Retry of": row.retryOf && <a href={`#/tasks/${row.retryOf}`}>{shortId(row.retryOf)}</a>,
  };
  return (
    <dl class="panel facts">
      {Object.entries(facts).map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

type StatesProps = { history: TaskDetail["task"]["history"]; isOver: boolean };

/** The time in each state, as parts of one bar. */
function States({ history, isOver }: StatesProps) {
  const nowMs = useNow();
  const byState = new Map<string, number>();
  for (const [index, { state, atMs }] of history.entries()) {
    const untilMs = history[index + 1]?.atMs ?? (isOver ? atMs : nowMs);
    if (state !== "done")
      byState.set(state, (byState.get(state) ?? 0) + Math.max(0, untilMs - atMs));
  }
  const parts = [...byState];
  if (parts.every(([, ms]) => ms === 0)) return null;
  const texts = parts.map(([state, ms]) => `${state} ${formatDuration(ms)}`);
  return (
    <div>
      <div class="bar" role="img" aria-label={`Time in each state: ${texts.join(", ")}`}>
        {parts.map(([state, ms]) => (
          <span key={state} class={`in-${state}`} style={{ flexGrow: ms }} />
        ))}
      </div>
      <ul class="legend">
        {parts.map(([state, ms]) => (
          <li key={state} class={`in-${state}`}>
            {state} <span class="soft">{formatDuration(ms)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
