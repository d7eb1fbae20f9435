/** The agent: works for as long as its story says, asks or tells where it is that kind, and heeds its signal. */
import { setTimeout as wait } from "node:timers/promises";
import type { Agent, AgentTask } from "@sekisho/execution/agents/agent.ts";
import { operate } from "./operate.ts";
import { currentProcess } from "./processes.ts";
import { worldMs } from "./virtual-time.ts";
import type { AgentRun, World } from "./world.ts";

const times = { usualMs: 1, giveUpMs: 1, landMs: 1 };
const failed = () => new Error("the agent cannot be started");
const failures = { refused: failed, unknown: failed };
const tellings = 4;

export const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];

/** The same choice as one field of a form. */
const fields = [
  { id: "choice", label: "Shall I?", type: "choice" as const, required: true, options },
];

export function createAgent({ world }: { world: World }): Agent {
  const { agentMs, agent: kind, messages } = world.story;
  return async function* agent(task, { signal }) {
    const { correlation_id: requestId = "", answers, history = [] } = task;
    const turn = answers.length;
    const about = () => `${world.names.of(requestId)}${turn > 0 ? ` after ${turn} answers` : ""}`;
    const at = { world, about, times, failures };
    const reads = history.filter(({ role }) => role === "assistant").map(({ text }) => text);
    const begun = {
      requestId,
      turn,
      files: task.attachments?.length ?? 0,
      reads,
      fromMs: worldMs(),
    };
    const run: AgentRun = { ...begun, untilMs: Number.POSITIVE_INFINITY, end: "working" };
    const over = (end: AgentRun["end"]) => {
      if (run.end === "working") Object.assign(run, { end, untilMs: worldMs() });
    };
    currentProcess()?.onDeath.push(() => over("died"));
    signal.addEventListener("abort", () => over("stopped"));
    await operate({ ...at, point: "agent.start", effect: () => void world.agentRuns.push(run) });
    // A reply that came before the question is a task of its own, which asks nothing.
    const asks = kind.asks !== undefined && turn === 0 && task.text === messages[0]?.text;
    if (asks) {
      await operate({ ...at, point: "agent.end", effect: () => over("ended") });
      yield {
        type: "question",
        prompt: "Shall I go on?",
        ...(kind.asks === "fields" ? { fields } : { options }),
      };
      return;
    }
    for (let telling = 1; kind.tells && telling < tellings; telling++) {
      await wait(agentMs / tellings, undefined, { signal });
      yield {
        type: "progress",
        percent: (100 * telling) / tellings,
        partial: `So far: ${"more ".repeat(telling)}`,
      };
    }
    await wait(kind.tells ? agentMs / tellings : agentMs, undefined, { signal });
    if (kind.writesMs !== undefined)
      yield* write({ run, untilMs: worldMs() + kind.writesMs, signal });
    if (kind.failsFirst && world.names.of(requestId) === "#1") {
      await operate({ ...at, point: "agent.end", effect: () => over("ended") });
      yield { type: "failure", reason: "execution_failed" };
      return;
    }
    if (kind.makesFiles)
      yield { type: "artifact", artifact: { name: "list.csv", mimetype: "text/csv", text: "a,b" } };
    await operate({ ...at, point: "agent.end", effect: () => over("ended") });
    yield { type: "answer", text: agentsAnswer(task) };
  };
}

/** A token every 50 ms. */
async function* write({
  run,
  untilMs,
  signal,
}: {
  run: AgentRun;
  untilMs: number;
  signal: AbortSignal;
}) {
  run.wroteFromMs = worldMs();
  for (let partial = "word "; worldMs() < untilMs; partial += "word ") {
    run.wroteUntilMs = worldMs();
    yield { type: "progress", partial } as const;
    await wait(50, undefined, { signal });
  }
}

type Heard = Pick<AgentTask["answers"][number], "text" | "option_id" | "fields">;

export function agentsAnswer({
  text,
  answers = [],
}: {
  text: string;
  answers?: readonly Heard[];
}): string {
  const heard = answers
    .map(
      ({ option_id, text: said, fields: options }) =>
        ` after ${options?.choice ?? option_id ?? said}`,
    )
    .join("");
  return `This is what I found about: ${text.length} ${text.split(" ").toReversed().join(" ")}${heard}`;
}
