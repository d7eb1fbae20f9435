/** The timeline of a task: where its time went, and its steps by state and zone, each with its detail and the frames that went over the wire inside. */
import { useMemo, useState } from "preact/hooks";
import { groupSteps, type TimelineOutcome, type TimelineRow } from "../timeline-groups.ts";
import type { TimelineStep } from "../timeline-step.ts";

const zones: Readonly<Record<string, string>> = {
  slack: "Slack",
  verification: "Verification zone",
  transport: "Call of the agent",
  execution: "Execution zone",
  agent: "Agent",
};

const outcomes: Readonly<Record<TimelineOutcome, string>> = {
  open: "So far",
  good: "Answered in",
  bad: "Failed after",
  stopped: "Stopped after",
};

type TimelineProps = {
  steps: readonly TimelineStep[];
  /** Names the task, so that steps that are open stay open when more come. */
  taskId: string;
  /** How the task ended, where its record says so. */
  outcome?: TimelineOutcome | undefined;
};

export function Timeline({ steps, taskId, outcome }: TimelineProps) {
  const { groups, sum } = useMemo(() => groupSteps(steps), [steps]);
  const ending = outcome ?? sum.outcome;
  const parts = sum.parts.map(({ name, tookMs }) => `${name} ${formatSeconds(tookMs)}`);
  if (steps.length === 0) return <p class="none">No steps were recorded.</p>;
  return (
    <>
      <p class="sum">
        <strong>{`${outcomes[ending]} ${formatSeconds(sum.tookMs)}`}</strong>
        {ending === "open" && ` (${sum.state})`}
        {parts.length > 0 && `: ${parts.join(", ")}`}
      </p>
      <ol class="steps" aria-label="Steps">
        {groups.map(({ zone, state, rows, tookMs }, index) => (
          <li key={`${taskId}/${index}`} class={`group ${zone}`}>
            <h3>
              <span class="dot" />
              {zones[zone] ?? zone}
              <span class="chip">{state}</span>
              {tookMs >= 5 && <span class="took">{formatSeconds(tookMs)}</span>}
            </h3>
            <ul>
              {rows.map((row, position) => (
                <Row key={position} row={row} startMs={steps[0]?.atMs ?? 0} />
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </>
  );
}

function Row({ row, startMs }: { row: TimelineRow; startMs: number }) {
  const { title, count, steps, tookMs } = row;
  const [isOpen, setOpen] = useState(false);
  const [first] = steps;
  const atMs = first?.atMs ?? startMs;
  const hasFailed = steps.some(({ failed }) => failed);
  const status = steps.map(({ frame }) => readStatus(frame)).findLast((each) => each !== undefined);
  const hasDetail = steps.some(
    ({ detail = {}, frame }) => Object.keys(detail).length > 0 || frame !== undefined,
  );
  const line = (
    <>
      {count > 1 ? `${title} × ${count}` : title}
      {status !== undefined && <span class={`chip ${status.kind}`}>{status.text}</span>}
      {hasFailed && <span class="chip bad">failed</span>}
      {tookMs > 0 && <span class="took">{formatSeconds(tookMs)}</span>}
    </>
  );
  return (
    <li class={hasFailed ? "step failed" : "step"}>
      <time dateTime={new Date(atMs).toISOString()} title={new Date(atMs).toLocaleTimeString()}>
        {`+${formatSeconds(atMs - startMs)}`}
      </time>
      {hasDetail ? (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>{line}</summary>
          {isOpen &&
            steps.map((step, index) => (
              <Detail key={index} step={step} startMs={steps.length > 1 ? startMs : undefined} />
            ))}
        </details>
      ) : (
        <div class="plain">{line}</div>
      )}
    </li>
  );
}

/** With `startMs` it is one of several in its row, and says when it was. */
function Detail({ step, startMs }: { step: TimelineStep; startMs: number | undefined }) {
  const { atMs, title, detail = {}, frame } = step;
  return (
    <>
      {startMs !== undefined && <p class="soft">{`+${formatSeconds(atMs - startMs)} ${title}`}</p>}
      <dl class="facts">
        {Object.entries(detail).map(([name, value]) => (
          <Fact key={name} name={name} value={String(value)} />
        ))}
      </dl>
      {frame !== undefined && <pre>{JSON.stringify(frame, null, 2)}</pre>}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

type Frame = {
  result?: { status?: unknown };
  error?: { message?: unknown; data?: { reason?: unknown } };
  failed?: unknown;
  status?: unknown;
};

/** The outcome of a response, shown without opening the step. */
function readStatus(frame: unknown): { text: string; kind: "" | "bad" } | undefined {
  const { result, error, failed, status }: Frame = Object(frame);
  const good = result?.status ?? status;
  if (good !== undefined) return { text: String(good), kind: "" };
  const bad = error?.data?.reason ?? failed ?? error?.message;
  return bad === undefined ? undefined : { text: String(bad), kind: "bad" };
}

function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
