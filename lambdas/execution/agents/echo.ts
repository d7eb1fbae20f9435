/** The agent that comes with the house: it says what it received, and can be asked to be slow, to fail, to report progress or to ask back. */
import { setTimeout as delay } from "node:timers/promises";
import type { Agent, AgentTask } from "./agent.ts";

const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const longestMs = 3600_000;
const progressSteps = 5;
/** Six seconds in all: longer than a call waits before its task goes on in the background. */
const defaultStepMs = 1200;

/**
 * Words in the text, alone or together: `slow 5s` (or `slow 500ms`) answers that much later, `progress` reports five
 * times on the way (every `stepMs`, or over the time of `slow`), `ask me` asks before the answer, `fail` fails at the end.
 */
export function createEchoAgent({
  stepMs = defaultStepMs,
  sleep = ({ ms, signal }) => delay(ms, undefined, { signal }),
}: {
  stepMs?: number;
  /** Rejects when the signal aborts. */
  sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<void>;
} = {}): Agent {
  return async function* echo(task, { requestId, signal }) {
    const { lengthMs, steps, asks, fails } = wishesOf({ text: task.text, stepMs });
    if (asks && task.answers.length === 0) {
      yield { type: "question", prompt: "Shall I go on?", options };
      return;
    }
    for (let step = 1; step <= steps; step++) {
      await sleep({ ms: lengthMs / steps, signal });
      if (steps > 1) yield { type: "progress", text: `Step ${step} of ${steps}`, percent: (100 * step) / steps };
    }
    if (fails) yield { type: "failure", reason: "execution_failed" };
    else yield { type: "answer", text: answerTo({ task, requestId }) };
  };
}

/** `steps` is 0 where nothing is to be waited for. */
function wishesOf({ text, stepMs }: { text: string; stepMs: number }): {
  lengthMs: number;
  steps: number;
  asks: boolean;
  fails: boolean;
} {
  const [, amount, unit] = /\bslow\s+(\d{1,9})\s*(ms|s)\b/i.exec(text) ?? [];
  const slowMs = amount === undefined ? undefined : Number(amount) * (unit?.toLowerCase() === "ms" ? 1 : 1000);
  const progress = /\bprogress\b/i.test(text);
  const lengthMs = Math.min(longestMs, slowMs ?? (progress ? progressSteps * stepMs : 0));
  const steps = progress ? progressSteps : lengthMs > 0 ? 1 : 0;
  return { lengthMs, steps, asks: /\bask me\b/i.test(text), fails: /\bfail\b/i.test(text) };
}

function answerTo({ task, requestId }: { task: AgentTask; requestId: string }): string {
  const { text, channel, user_id, thread_ts, attachments = [], answers } = task;
  const who = user_id === undefined ? "Someone" : user_id;
  const where = channel === undefined ? "" : ` in ${channel}${thread_ts === undefined ? "" : `, thread ${thread_ts}`}`;
  const files = attachments.length === 0 ? "" : ` with ${attachments.length} file(s)`;
  const heard = answers.map(({ prompt, option_id, text: said }) => `\n${prompt} ${option_id ?? said}`).join("");
  return `I am the echo agent. ${who} said${where}${files}:\n${text}${heard}\n(request ${requestId.slice(0, 8)})`;
}
