/**
 * Takes people's votes on an answer. A vote is stored in the task's record first; the usage history and the Execution zone get it from
 * there. A failure of either changes nothing about the task.
 */

import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import { conflict, retryOnConflict } from "../../shared/engine/records.ts";
import type { Log, LogFields } from "../../shared/log.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";
import type { WorkerDestination } from "../destinations.ts";
import type { Person } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type { ButtonClick, VoteGiven } from "../task/messages.ts";
import { secretOfConversation, voterIdOf, type ZoneSecretValues } from "../task/routing.ts";
import { hasFailedDelivery, queueGroupOf, type Task, threadRefOf } from "../task/task.ts";
import { createHistoryId, type HistoryEntry, withVotes } from "../usage/entry.ts";

type Vote = NonNullable<Task["votes"]>[number];

export type Votes = {
  /** Stores the vote of a click. `held`: a worker acts on the task, so try again soon. Rejects if the store, the queue or the gate is unavailable. */
  take(request: VoteClick): Promise<ButtonClickRefusal | "held" | undefined>;
  /** Passes a stored vote on to the usage history and the Execution zone. Rejects if the store or the queue is unavailable. */
  pass(request: { given: VoteGiven; signal: AbortSignal }): Promise<void>;
};

type VoteClick = {
  task: Task;
  person: Person;
  click: Pick<ButtonClick, "atMs"> & { vote: Vote["vote"] };
  signal: AbortSignal;
};

/** A record keeps the votes of so many people. */
const maxVoters = 100;
/** The time for one call. A vote is not worth more of a worker's time. */
const callTimeoutMs = 15_000;
/** The pauses after failed calls: nearly eleven hours in all. */
const againAfterMs = [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 28_800_000];

export function createVotes(options: {
  store: Pick<TaskStore<Task>, "get" | "replace">;
  historyStore: Pick<TaskStore<HistoryEntry>, "get" | "replace">;
  queue: TaskQueue;
  gate: Pick<Gate, "mayAskThere">;
  destinations: ReadonlyMap<string, WorkerDestination>;
  zoneSecret: () => ZoneSecretValues | Promise<ZoneSecretValues>;
  newId: () => string;
  log: Log;
  now: () => number;
}): Votes {
  const { store, historyStore, queue, gate, destinations, zoneSecret, newId, log, now } = options;

  async function note(task: Task): Promise<void> {
    await retryOnConflict({
      async attempt() {
        const entry = await historyStore.get({ id: createHistoryId(task.id) });
        const next = entry && withVotes(entry, task.votes ?? []);
        if (next === undefined) return;
        return (await historyStore.replace({ item: next })) === undefined ? conflict : undefined;
      },
    });
  }

  async function call({
    task,
    vote,
    signal,
  }: {
    task: Task;
    vote: Vote;
    signal: AbortSignal;
  }): Promise<void> {
    const destination = destinations.get(task.call?.destination ?? "");
    if (destination === undefined || destination.takesVotes === false || task.call === undefined)
      return;
    const { taskId, sessionId } = task.call;
    const { voterId, vote: given, atMs } = vote;
    const key = taskId === undefined ? { request_id: task.id } : { task_id: taskId };
    await destination.client.call({
      method: "feedback",
      params: { ...key, vote: given, voter_id: voterId, voted_at: new Date(atMs).toISOString() },
      id: newId(),
      requestId: task.id,
      sessionId,
      timeoutMs: Math.min(callTimeoutMs, destination.callTimeoutMs),
      trace: task.trace,
      signal,
    });
  }

  return {
    async take({ task, person, click: { atMs, vote }, signal }) {
      if (!(await gate.mayAskThere({ task, person, signal }))) return { type: "not_yours" };
      if (task.outcome?.type !== "answer" && !isAnswerErased(task)) return { type: "over" };
      if (task.lease !== undefined && task.lease.untilMs > now()) return "held";
      const secret = secretOfConversation({
        conversation: threadRefOf(task),
        zoneSecret: await zoneSecret(),
      });
      const voterId = voterIdOf({ team: task.message.team, user: person.user, zoneSecret: secret });
      const item = withVote(task, { voterId, vote, atMs });
      // Another writer was first.
      if (item !== task && (await store.replace({ item })) === undefined) return "held";
      // Also for a click that comes again, because the worker may have died before it sent this.
      await queue.send({
        body: encodeQueueMessage({ type: "vote_given", requestId: task.id, voterId }),
        group: queueGroupOf(task),
      });
      return undefined;
    },

    async pass({ given, signal }) {
      const { requestId, voterId, tries = 0 } = given;
      const task = await store.get({ id: requestId });
      const vote = task?.votes?.find((one) => one.voterId === voterId);
      if (task === undefined || vote === undefined) return;
      await note(task);
      const fields: LogFields = { request_id: requestId, trace_id: readTraceId(task.trace) };
      try {
        await call({ task, vote, signal });
      } catch (thrown) {
        const { reason, retryable, details } = SekishoError.from(thrown);
        const delayMs = retryable || reason === "ambiguous" ? againAfterMs[tries] : undefined;
        if (delayMs === undefined) return log.info("vote_not_passed", { ...fields, reason });
        const body = encodeQueueMessage({ ...given, tries: tries + 1 });
        await queue.send({
          body,
          delayMs: Math.max(delayMs, details.retry_after_ms ?? 0),
          group: queueGroupOf(task),
        });
      }
    },
  };
}

/** A delivered answer is erased some minutes later. A task whose erased outcome was something else still has it. */
function isAnswerErased(task: Task): boolean {
  return task.textsErased === true && task.outcome === undefined && !hasFailedDelivery(task);
}

/** Returns the same object if the person's stored vote is as new as this one. */
function withVote(task: Task, vote: Vote): Task {
  const { votes = [] } = task;
  const known = votes.find(({ voterId }) => voterId === vote.voterId);
  if (known !== undefined && known.atMs >= vote.atMs) return task;
  return { ...task, votes: [...votes.filter((one) => one !== known), vote].slice(-maxVoters) };
}
