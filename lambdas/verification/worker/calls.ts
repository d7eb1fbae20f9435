/** The acts that call the Execution zone, each in a slot of its destination, so that one that hangs leaves the others room. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { CallAct, CallFailure, TaskEffect, TaskEvent } from "../task/events.ts";
import type { Task } from "../task/task.ts";
import type { ExecutionClient } from "../transport/client.ts";
import { answerTask, cancelTask, executeTask, pollTask } from "./execute.ts";
import { createSlots } from "./slots.ts";

export type WorkerDestination = {
  client: ExecutionClient;
  callTimeoutMs: number;
  /** The most tasks that are sent at once in this process; polls, answers and cancels have a quarter as much beside them. */
  maxSends: number;
  /** How long a poll may wait at the destination for news; 0: it answers at once. */
  longPollMs: number;
  /** Given where the destination asks for the bot token; read anew for each send, never stored. */
  botToken?: ((task: Task) => Promise<string>) | undefined;
};

export type Call = Extract<TaskEffect, { type: CallAct }>;
type CallRequest = { act: Call; task: Task; signal: AbortSignal };

export type Calls = {
  /** Rejects for nothing that the other side does. */
  run(request: CallRequest): Promise<TaskEvent>;
  /** Best effort: a session that is not stopped ends by itself. */
  stopSession(request: { task: Task; signal: AbortSignal }): Promise<void>;
};

export function createCalls({
  destinations,
  newId,
  now,
}: {
  destinations: ReadonlyMap<string, WorkerDestination>;
  newId: () => string;
  now: () => number;
}): Calls {
  const slots = new Map(
    [...destinations].map(([name, { maxSends }]) => {
      const maxAsks = Math.ceil(maxSends / 4);
      // A send takes as long as the agent does, so that nobody waits for its slot here; to ask takes a moment.
      const send = createSlots({ max: maxSends, maxWaiting: 0, now });
      return [name, { send, ask: createSlots({ max: maxAsks, maxWaiting: maxAsks, now }) }];
    }),
  );

  async function inSlot(request: CallRequest): Promise<TaskEvent> {
    const { act, task } = request;
    const taken = await slotsOf(task)?.[act.type === "send" ? "send" : "ask"].take();
    if (taken !== undefined && "delayMs" in taken) return { type: "busy", delayMs: taken.delayMs };
    try {
      return await call(request);
    } finally {
      taken?.release();
    }
  }

  async function call({ act, task, signal }: CallRequest): Promise<TaskEvent> {
    const request = { ...destinationOf(task), task, newId, signal };
    switch (act.type) {
      case "send":
        return { type: "answered", act: "send", result: await executeTask(request), nowMs: now() };
      case "poll": {
        const isIdle = slotsOf(task)?.ask.isIdle() ?? true;
        const waitMs = isIdle && task.ending === undefined && task.state !== "asking" ? request.longPollMs : 0;
        return {
          type: "answered",
          act: "poll",
          result: await pollTask({ ...request, by: act.by, waitMs }),
          nowMs: now(),
        };
      }
      case "answer":
        return { type: "answered", act: "answer", result: await answerTask(request), nowMs: now() };
      case "cancel":
        await cancelTask(request);
        return { type: "canceled", nowMs: now() };
    }
  }

  function slotsOf(task: Task) {
    return task.destination === undefined ? undefined : slots.get(task.destination);
  }

  function destinationOf(task: Task): WorkerDestination {
    const known = task.destination === undefined ? undefined : destinations.get(task.destination);
    if (known === undefined) throw new SekishoError("agent_not_found");
    return known;
  }

  return {
    async run(request) {
      try {
        return await inSlot(request);
      } catch (thrown) {
        if (!(thrown instanceof SekishoError)) throw thrown;
        return { type: "call_failed", nowMs: now(), act: request.act.type, error: failureOf(thrown) };
      }
    },
    async stopSession({ task: { destination = "", sessionId }, signal }) {
      const client = destinations.get(destination)?.client;
      if (sessionId !== undefined) await client?.stopSession?.({ sessionId, signal }).catch(() => {});
    },
  };
}

function failureOf(error: SekishoError): CallFailure {
  return {
    reason: error.reason,
    retryable: error.retryable,
    undelivered: error.undelivered,
    unread: error.unread,
    retryAfterMs: error.details.retry_after_ms,
    lost: error.details.lost === true,
    ...(error.endsTask && { endsTask: true }),
  };
}
