/** What the task machine asks for, done: each act talks to one party and comes back as one event. */
import { SekishoError } from "../../../contracts/errors.ts";
import { type SlackApi, SlackError } from "../slack/slack.ts";
import type { CallFailure, TaskEffect, TaskEvent } from "../task/events.ts";
import type { Task } from "../task/task.ts";
import type { ExecutionClient } from "../transport/client.ts";
import { announce } from "./announce.ts";
import { type AnswerText, deliver, sweep } from "./deliver.ts";
import { cancelTask, executeTask, pollTask } from "./execute.ts";

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
  /** Given where the destination asks for the bot token; read anew for each send, never stored. */
  botToken?: (() => Promise<string>) | undefined;
};

type ActOptions = {
  slack: SlackApi;
  destinations: ReadonlyMap<string, WorkerDestination>;
  answerText: AnswerText;
  newId: () => string;
  now?: () => number;
};

export function createRunAct({ slack, destinations, answerText, newId, now = Date.now }: ActOptions): RunAct {
  async function perform({ act, task, signal }: ActRequest): Promise<TaskEvent> {
    switch (act.type) {
      case "announce":
        return {
          type: "announced",
          nowMs: now(),
          ts: await announce({ slack, task, heal: act.heal, answerText, signal }),
        };
      case "send":
        return { type: "answered", result: await executeTask({ ...destinationOf(task), task, signal }), nowMs: now() };
      case "poll":
        return {
          type: "answered",
          result: await pollTask({ ...destinationOf(task), task, by: act.by, newId, signal }),
          nowMs: now(),
        };
      case "cancel":
        await cancelTask({ ...destinationOf(task), task, newId, signal });
        return { type: "canceled", nowMs: now() };
      case "deliver":
        await deliver({ slack, task, heal: act.heal, answerText, nowMs: now(), signal });
        return { type: "delivered" };
      case "sweep":
        await sweep({ slack, task, answerText, signal });
        return { type: "swept" };
    }
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
    retryAfterMs: error.details.retry_after_ms,
    lost: error.details.lost === true,
  };
}
