/** What the task machine asks for, done: each act talks to one party and comes back as one event. */
import { SekishoError } from "../../../contracts/errors.ts";
import { type SlackApi, SlackError } from "../slack/slack.ts";
import type { CallFailure, TaskEffect, TaskEvent } from "../task/events.ts";
import type { Task } from "../task/task.ts";
import type { ExecutionClient } from "../transport/client.ts";
import { announce } from "./announce.ts";
import { readAskedText } from "./asked-again.ts";
import { type AnswerText, deliver, sweep } from "./deliver.ts";
import { cancelTask, executeTask, pollTask } from "./execute.ts";
import { createSlots } from "./slots.ts";
import type { Threads } from "./threads.ts";

export type Act = Exclude<TaskEffect, { type: "wake" | "stop_session" }>;
type CallAct = Extract<Act, { type: "send" | "poll" | "cancel" }>;
type ActRequest = { act: Act; task: Task; signal: AbortSignal };

/** Never rejects for what the other side does; a rejection is a defect, and the message comes again. */
export type RunAct = {
  (request: ActRequest): Promise<TaskEvent>;
  /** Best effort: a session that is not stopped ends by itself. */
  stopSession(request: { task: Task; signal: AbortSignal }): Promise<void>;
};

export type WorkerDestination = {
  client: ExecutionClient;
  callTimeoutMs: number;
  /** The most tasks that are sent at once in this process; polls and cancels have a quarter as much beside them. */
  maxSends: number;
  /** How long a poll may wait at the destination for news; 0: it answers at once. */
  longPollMs: number;
  /** Given where the destination asks for the bot token; read anew for each send, never stored. */
  botToken?: (() => Promise<string>) | undefined;
};

type ActOptions = {
  slack: SlackApi;
  threads: Threads;
  destinations: ReadonlyMap<string, WorkerDestination>;
  answerText: AnswerText;
  newId: () => string;
  now?: () => number;
};

export function createRunAct({ slack, threads, destinations, answerText, newId, now = Date.now }: ActOptions): RunAct {
  const slots = new Map(
    [...destinations].map(([name, { maxSends }]) => {
      const maxAsks = Math.ceil(maxSends / 4);
      // A send takes as long as the agent does, so that nobody waits for its slot here; to ask takes a moment.
      const send = createSlots({ max: maxSends, maxWaiting: 0, now });
      return [name, { send, ask: createSlots({ max: maxAsks, maxWaiting: maxAsks, now }) }];
    }),
  );

  async function perform(request: ActRequest): Promise<TaskEvent> {
    const { act, task } = request;
    if (!isCall(act)) return performHere({ ...request, act });
    const taken = await slotsOf(task)?.[act.type === "send" ? "send" : "ask"].take();
    if (taken !== undefined && "delayMs" in taken) return { type: "busy", delayMs: taken.delayMs };
    try {
      return await call({ ...request, act });
    } finally {
      taken?.release();
    }
  }

  async function call({ act, task, signal }: ActRequest & { act: CallAct }): Promise<TaskEvent> {
    const destination = destinationOf(task);
    switch (act.type) {
      case "send":
        return { type: "answered", result: await executeTask({ ...destination, task, signal }), nowMs: now() };
      case "poll": {
        const isIdle = slotsOf(task)?.ask.isIdle() ?? true;
        const waitMs = isIdle && task.ending === undefined ? destination.longPollMs : 0;
        return {
          type: "answered",
          result: await pollTask({ ...destination, task, by: act.by, waitMs, newId, signal }),
          nowMs: now(),
        };
      }
      case "cancel":
        await cancelTask({ ...destination, task, newId, signal });
        return { type: "canceled", nowMs: now() };
    }
  }

  async function performHere({ act, task, signal }: ActRequest & { act: Exclude<Act, CallAct> }): Promise<TaskEvent> {
    switch (act.type) {
      case "line_up": {
        const place = await threads.lineUp({ task, turnMs: act.turnMs, parallel: act.parallel });
        return place === undefined ? { type: "thread_full" } : { type: "lined_up", nowMs: now(), ...place };
      }
      case "leave_thread":
        await threads.leave({ task });
        return { type: "left_thread" };
      case "cancel_thread":
        return { type: "thread_canceled", count: await threads.cancelAll({ task }) };
      case "read_message":
        return { type: "message_read", nowMs: now(), text: await readAskedText({ slack, task, signal }) };
      case "announce":
        return {
          type: "announced",
          nowMs: now(),
          ts: await announce({ slack, task, heal: act.heal, answerText, signal }),
        };
      case "deliver":
        await deliver({ slack, task, heal: act.heal, answerText, nowMs: now(), signal });
        return { type: "delivered" };
      case "sweep":
        await sweep({ slack, task, answerText, signal });
        return { type: "swept" };
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

  const runAct = async (request: ActRequest): Promise<TaskEvent> => {
    try {
      return await perform(request);
    } catch (thrown) {
      if (thrown instanceof SlackError) {
        return { type: "slack_failed", nowMs: now(), kind: thrown.kind, retryAfterMs: thrown.retryAfterMs };
      }
      if (thrown instanceof SekishoError && isCall(request.act)) {
        return { type: "call_failed", nowMs: now(), act: request.act.type, error: failureOf(thrown) };
      }
      throw thrown;
    }
  };
  return Object.assign(runAct, {
    async stopSession({ task, signal }: { task: Task; signal: AbortSignal }) {
      const client = destinations.get(task.destination ?? "")?.client;
      if (task.sessionId !== undefined)
        await client?.stopSession?.({ sessionId: task.sessionId, signal }).catch(() => {});
    },
  });
}

function isCall(act: Act): act is CallAct {
  return act.type === "send" || act.type === "poll" || act.type === "cancel";
}

function failureOf(error: SekishoError): CallFailure {
  return {
    reason: error.reason,
    retryable: error.retryable,
    undelivered: error.undelivered,
    retryAfterMs: error.details.retry_after_ms,
    lost: error.details.lost === true,
  };
}
