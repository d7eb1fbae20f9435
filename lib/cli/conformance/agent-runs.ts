/** Runs an agent three times through the host's code, and notes what each run shows. */
import { randomUUID } from "node:crypto";
import { maxHistoryTextLength } from "@sekisho/contracts/limits.ts";
import type { Agent, AgentConversation, AgentTask } from "@sekisho/execution/agents/agent.ts";
import { isReadableUrl } from "@sekisho/execution/runs/artifact-url.ts";
import { createReadAttachment } from "@sekisho/execution/runs/attachments.ts";
import { cleanUp } from "@sekisho/execution/runs/clean-up.ts";
import { type AgentTurn, collectOutcome } from "@sekisho/execution/runs/collect-outcome.ts";
import { runAsAgent } from "@sekisho/execution/runs/uncaught-errors.ts";
import { waitAtMost } from "@sekisho/runtime/async/deadline.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createPublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { Seen } from "./agent-features.ts";

type Runs = {
  agent: Agent;
  /** The limit for all runs together. */
  budgetMs: number;
  /** How long an agent may take to end after a cancel. */
  cancelMs?: number;
  signal: AbortSignal;
  log: Log;
};

const words = ["tangerine", "lighthouse", "harmonica", "glacier", "walnut"];
const cancelAfterMs = 1000;

/** Rejects only if `signal` aborts. */
export async function runThreeTimes(runs: Runs): Promise<Seen> {
  const seen: Seen = {};
  const timeout = AbortSignal.timeout(runs.budgetMs);
  const signal = AbortSignal.any([runs.signal, timeout]);
  const session = { ...runs, ...createThread(), seen, signal };
  const word = words[Math.floor(Math.random() * words.length)] ?? "walnut";
  const text = `Please remember the word "${word}" for my next message. Answer with one short sentence.`;
  const sentAtSeconds = Math.floor(Date.now() / 1000);
  const message = { text, thread_ts: `${sentAtSeconds}.000100` };
  const first = await untilStopped(session, message);
  if (first?.end.type === "success") {
    const answer = { text: first.end.text, ts: `${sentAtSeconds}.000200` };
    seen.conversation = await recall(session, { word, message, answer });
    seen.cancel = await cancel({ ...session, ...createThread() });
  }
  runs.signal.throwIfAborted();
  if (timeout.aborted) seen.answer ??= `no: not within ${runs.budgetMs / 1000} s`;
  return seen;
}

type SentTask = Pick<AgentTask, "text" | "history" | "thread_ts">;
type Thread = { contextId: string; conversation: AgentConversation };
type Session = Runs & Thread & { seen: Seen };

function createThread(): Thread {
  let keptValue: unknown;
  const conversation: AgentConversation = {
    read: async () => structuredClone(keptValue),
    async write(value) {
      keptValue = structuredClone(value);
    },
  };
  return { contextId: randomUUID(), conversation };
}

/** Does not wait for an agent that ignores its signal. */
function untilStopped(session: Session, task: SentTask): Promise<AgentTurn | undefined> {
  const { signal } = session;
  return abortable({ promise: run(session, task), signal }).catch(() => undefined);
}

/** Undefined if it was stopped. */
async function run(
  { agent, seen, signal, contextId, conversation, log }: Session,
  task: SentTask,
  onNews: () => void = () => {},
): Promise<AgentTurn | undefined> {
  const id = randomUUID();
  const ids = { requestId: id, taskId: id, messageId: id, contextId, caller: "conformance" };
  const readAttachment = createReadAttachment({ publicFetch: createPublicFetch(), signal, log });
  const turn = await collectOutcome({
    agent,
    task: { ...task, parts: [{ text: task.text }], answers: [] },
    context: { ...ids, signal, readAttachment, conversation, trace: createTrace(), log },
    isReadableUrl,
    onNews({ progress }) {
      if (progress?.partial_text !== undefined) seen["partial answer"] = "yes";
      if (progress?.text !== undefined || progress?.steps !== undefined)
        seen["progress and plan"] = "yes";
      onNews();
    },
    endUpdates: (updates) => void cleanUp({ updates, log }),
    callAgent: (call) => runAsAgent(log, call),
  });
  if (signal.aborted) return undefined;
  noteTurn(seen, turn);
  return turn;
}

function noteTurn(seen: Seen, { end, artifacts }: AgentTurn): void {
  if (artifacts.length > 0) seen.files = "yes";
  if (end.type === "question") seen.question = "yes";
  if (end.type === "success") {
    seen.answer = "yes";
    if (end.usage !== undefined) seen.usage = "yes";
  }
  if (end.type === "failure")
    seen["clear failure"] = end.lost ? "no: nobody knows whether it ran" : `yes: ${end.reason}`;
}

/** Sends the thread as Slack has it. An agent that gets only the new message has to remember the word itself. */
async function recall(
  session: Session,
  thread: {
    word: string;
    message: { text: string; thread_ts: string };
    answer: { text: string; ts: string };
  },
): Promise<string> {
  const { word, message, answer } = thread;
  const { text, thread_ts } = message;
  const history = [
    { role: "user" as const, text, ts: thread_ts },
    { ...answer, role: "assistant" as const, text: truncate(answer.text, maxHistoryTextLength) },
  ];
  const question = "Which word did I ask you to remember? Answer with that word only.";
  const turn = await untilStopped(session, { text: question, thread_ts, history });
  if (turn?.end.type !== "success") return "no: the second message got no answer";
  return turn.end.text.toLowerCase().includes(word) ? "yes" : "no: it did not know the word";
}

/** Cancels at the first news, or after a second. */
async function cancel(session: Session): Promise<string> {
  const { signal, cancelMs = 5000 } = session;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), cancelAfterMs);
  const running = run(
    { ...session, signal: AbortSignal.any([signal, stop.signal]) },
    { text: "Count from 1 to 500 in words, one number per line." },
    // Not within the agent's own step, where it cannot wait for the signal yet.
    () => void setTimeout(() => stop.abort(), 0),
  );
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>();
  stop.signal.addEventListener("abort", () => resolve(undefined));
  const turn = await Promise.race([running, stopped]);
  clearTimeout(timer);
  if (turn !== undefined) return "not tried: it had ended before";
  const end = await waitAtMost({ work: running.then(() => "yes: it ended"), timeoutMs: cancelMs });
  return end ?? `no: it went on for ${cancelMs / 1000} s`;
}
