/**
 * An agent for the compatibility kits of A2A. The beginning of the message's id, or of its text, names the scenario. It echoes everything
 * else. Name this file in the configuration as `execution.agent`.
 */
import { setTimeout as delay } from "node:timers/promises";
import type {
  Agent,
  AgentContext,
  AgentTask,
  Artifact,
  TaskUpdate,
} from "@sekisho/execution/agent";

type Step = TaskUpdate | { type: "wait"; ms: number };

const file = { name: "output.txt", mimetype: "text/plain" };
const aDayMs = 24 * 3600_000;

/** Where several names fit, the longest counts. */
const scenarios: Record<string, (task: AgentTask, context: AgentContext) => readonly Step[]> = {
  "tck-complete-task": () => [answer("Hello from TCK")],
  "tck-delayed-complete": () => [{ type: "wait", ms: 2000 }, answer("Done after delay")],
  "tck-artifact-text": () => making({ text: "Generated text content" }),
  "tck-artifact-file": () => making({ ...file, base64: btoa("tck") }),
  "tck-artifact-file-url": () => making({ ...file, url: "https://example.com/output.txt" }),
  "tck-artifact-data": () => making({ data: { key: "value", count: 42 } }),
  "tck-message-response": () => [{ type: "answer", text: "Direct message response", direct: true }],
  "tck-input-required": () => [{ type: "question", prompt: "What else is there to know?" }],
  "tck-auth-required": () => [{ type: "question", prompt: "Please sign in.", kind: "auth" }],
  "tck-multi-turn": untilDone,
  "tck-reject-task": () => [{ type: "failure", reason: "plan_error" }],
  "tck-task-failure": () => [{ type: "failure", reason: "execution_failed" }],
  "tck-cancel": () => [{ type: "wait", ms: aDayMs }],
  "tck-long-running": () => [
    { type: "wait", ms: 1000 },
    ...making({ text: "Long running result" }),
  ],
  "tck-stream-001": () => streaming({ text: "Stream hello from TCK" }),
  "tck-stream-002": () => [answer("Done")],
  "tck-stream-003": () => streaming({ text: "Stream task lifecycle" }),
  "tck-stream-basic": () => streaming({ text: "Streamed content" }),
  "tck-stream-chunked": () =>
    streaming({ text: "chunk one " }, { text: "chunk two " }, { text: "chunk three" }),
  "tck-stream-ordering-001": () => streaming({ text: "Ordered output" }),
  "tck-stream-artifact-text": () => streaming({ text: "Streamed text content" }),
  "tck-stream-artifact-file": () => streaming({ ...file, base64: btoa("tck") }),
  "tck-stream-artifact-chunked": () => streaming({ text: "chunk-1 " }, { text: "chunk-2" }),
  // Returns what the agent sees of the message.
  "sekisho-seen": ({ parts }, { messageId, contextId }) =>
    making({ data: { messageId, contextId, parts } }),
  "test-resubscribe-message-id": () => [{ type: "wait", ms: 4000 }, answer("Still here")],
  // The kit for 0.3 goes on with these, or cancels them.
  "text-message-id": untilDone,
  "test-message-id": untilDone,
  "test-history-create-message-id": untilDone,
  "cancel-test-message-id": untilDone,
  "mapping-test-message-id": untilDone,
};
const names = Object.keys(scenarios).sort((a, b) => b.length - a.length);

/** The kits send the name of a scenario in the id of the message (a2a-tck), or at the beginning of its text (ACTS). */
export function createCompatibilityAgent({
  sleep = ({ ms, signal }) => delay(ms, undefined, { signal }),
}: {
  /** Rejects when the signal aborts. */
  sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<void>;
} = {}): Agent {
  return async function* compatibility(task, context) {
    const { messageId, requestId, signal } = context;
    const messageScenario = scenarioOf(messageId);
    const taskScenario = scenarioOf(requestId) ?? scenarioOf(task.text);
    const isAnswered =
      task.answers.length > 0 &&
      messageScenario === undefined &&
      scenarios[taskScenario ?? ""] !== untilDone;
    const steps = isAnswered
      ? undefined
      : scenarios[messageScenario ?? taskScenario ?? ""]?.(task, context);
    for (const step of steps ?? [answer(echoOf(task))]) {
      if (step.type === "wait") await sleep({ ms: step.ms, signal });
      else yield step;
    }
  };
}

export const agent = createCompatibilityAgent();

function scenarioOf(text: string): string | undefined {
  return names.find((name) => text.startsWith(name));
}

function echoOf({ text, answers }: AgentTask): string {
  return answers.at(-1)?.text ?? text;
}

function untilDone({ answers }: AgentTask): Step[] {
  const isDone = /^\s*done\b/i.test(answers.at(-1)?.text ?? "");
  return isDone
    ? [answer("Nothing more is needed")]
    : [{ type: "question", prompt: "More, or done?" }];
}

function answer(text: string): TaskUpdate {
  return { type: "answer", text };
}

/** Answers with artifacts alone. */
function making(...artifacts: Artifact[]): TaskUpdate[] {
  return [...artifacts.map((artifact): TaskUpdate => ({ type: "artifact", artifact })), answer("")];
}

function streaming(...artifacts: Artifact[]): TaskUpdate[] {
  return [{ type: "progress", text: "Working" }, ...making(...artifacts)];
}
