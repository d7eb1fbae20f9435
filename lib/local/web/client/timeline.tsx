/** The timeline of a task: one line a step, with its detail and the frame that went over the wire inside. */
import type { TimelineStep } from "../timeline-step.ts";

const zones: Readonly<Record<string, string>> = {
  slack: "Slack",
  verification: "Verification zone",
  transport: "Transport",
  execution: "Execution zone",
  agent: "Agent",
};

/** `taskId` names the task, so that steps that are open stay open when more come. */
export function Timeline({ steps, taskId }: { steps: readonly TimelineStep[]; taskId: string }) {
  const startMs = steps[0]?.atMs ?? 0;
  return (
    <ol class="steps" aria-label="Steps">
      {steps.map((step, index) => (
        <Step key={`${taskId}/${index}`} step={step} startMs={startMs} />
      ))}
    </ol>
  );
}

function Step({ step, startMs }: { step: TimelineStep; startMs: number }) {
  const { atMs, zone, title, detail = {}, failed, frame } = step;
  const facts = Object.entries(detail);
  const line = (
    <>
      {title}
      {failed && <span class="chip bad">failed</span>}
      <span class="zone">{zones[zone] ?? zone}</span>
    </>
  );
  return (
    <li class={`step ${zone}${failed ? " failed" : ""}`}>
      <time title={new Date(atMs).toLocaleTimeString()}>
        {`+${((atMs - startMs) / 1000).toFixed(2)} s`}
      </time>
      <span class="dot" />
      {facts.length === 0 && frame === undefined ? (
        <div class="plain">{line}</div>
      ) : (
        <details>
          <summary>{line}</summary>
          <dl class="facts">
            {facts.map(([name, value]) => (
              <Fact key={name} name={name} value={String(value)} />
            ))}
          </dl>
          {frame !== undefined && <pre>{JSON.stringify(frame, null, 2)}</pre>}
        </details>
      )}
    </li>
  );
}

export function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
