/** A host over a memory store, with short times, and the calls of a client that speaks JSON-RPC to it. */
import { randomUUID } from "node:crypto";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import type {
  Agent,
  AgentContext,
  AgentTask,
  TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost, type Host, type HostOptions } from "@sekisho/execution/host.ts";
import {
  type ConversationRecord,
  parseConversationRecord,
} from "@sekisho/execution/tasks/conversation-record.ts";
import { type ExecutionTask, parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { collectLog } from "../doubles/collect-log.ts";
import { createMemoryTaskStore } from "../world/records.ts";

export type Answer = {
  id: unknown;
  result?: {
    status: string;
    task_id: string;
    response_text: string;
    artifacts?: Artifact[];
    usage?: unknown;
    correlation_id?: string;
    expires_at: string;
    poll_after_ms: number;
    progress?: { text?: string; percent?: number; partial_text?: string };
    prompt?: string;
    question_id?: string;
  };
  error?: {
    code: number;
    message: string;
    data: { reason: string; task_id?: string; [name: string]: unknown };
  };
};

export type CallOptions = { id?: string | number; headers?: Record<string, string>; path?: string };

export function memoryConversations(now?: () => number): TaskStore<ConversationRecord> {
  return createMemoryTaskStore({ parse: parseConversationRecord, ...(now && { now }) });
}

export type TestHost = {
  host: Host;
  store: TaskStore<ExecutionTask>;
  /** Every line that was logged, as text. */
  lines: string[];
  call(method: string, params: unknown, options?: CallOptions): Promise<Answer>;
};

export function memoryStore(now?: () => number): TaskStore<ExecutionTask> {
  return createMemoryTaskStore({ parse: parseExecutionTask, ...(now && { now }) });
}

export function createTestHost(options: Partial<HostOptions> = {}): TestHost {
  const { lines, log } = collectLog({ service: "execution", level: "debug" });
  const store = options.store ?? memoryStore();
  const host = createHost({
    agent: answering("done"),
    authenticator: createNoneAuthenticator(),
    log,
    ...options,
    store,
  });
  return {
    host,
    store,
    lines,
    async call(method, params, { id = randomUUID(), headers = {}, path = "/" } = {}) {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const request = post(body, {
        headers: { "content-type": "application/json", ...headers },
        path,
      });
      const response = await host.handle(request);
      return (await response.json()) as Answer;
    },
  };
}

/** Bytes, not text: a Request gives text a content type of its own accord. */
export function post(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  { headers = {}, path = "/" }: Omit<CallOptions, "id"> = {},
): Request {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return new Request(`http://127.0.0.1${path}`, {
    method: "POST",
    body: bytes,
    headers,
    duplex: "half",
  });
}

export const hello = { channel: "C1", text: "hello" };

export function answering(text: string): Agent {
  return async function* () {
    yield { type: "answer", text };
  };
}

export function yielding(...updates: TaskUpdate[]): Agent {
  return async function* () {
    yield* updates;
  };
}

/** Answers with the value that it kept, and keeps the text of the task. */
export const remembering: Agent = async ({ text }, { conversation }) => {
  const earlierText = await conversation.read();
  await conversation.write(text);
  return `before: ${earlierText}`;
};

/** An agent that waits until it is let go, and remembers how often it was started and with what. */
export function createGate({ heedsSignal = true, updates = [] as TaskUpdate[] } = {}) {
  const runs: { task: AgentTask; context: AgentContext }[] = [];
  const { promise: open, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: firstStart, resolve: noteStart } = Promise.withResolvers<void>();
  const agent: Agent = async function* (task, context) {
    runs.push({ task, context });
    noteStart();
    yield* updates;
    if (heedsSignal) await Promise.race([open, abortOf(context.signal)]);
    else await open;
    context.signal.throwIfAborted();
    yield { type: "answer", text: "done" };
  };
  return { agent, started: runs, letGo, firstStart };
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Looks again until it holds; the test's own time-out is the bound. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
