/**
 * Takes people's votes on an answer. A vote is stored in the task's record first, and the Execution zone gets it from there. If it is
 * unavailable, the queue repeats the click.
 */

import { isTransient } from "@sekisho/contracts/certainty.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { WorkerDestination } from "../destinations.ts";
import type { Person } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import type { FindEmail } from "../lookups/person-email.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import type { ButtonClick, VoteGiven } from "../task/messages.ts";
import { secretOfConversation, voterIdOf, type ZoneSecretValues } from "../task/routing.ts";
import { hasFailedDelivery, type Task, threadRefOf } from "../task/task.ts";
import { findAsker } from "./asker.ts";

type Vote = NonNullable<Task["votes"]>[number];

export type Votes = {
  /** Stores the vote of a click and passes it on. `held`: a worker acts on the task, so try again soon. Rejects if the click is to come again. */
  take(request: VoteClick): Promise<ButtonClickRefusal | "held" | undefined>;
  /** Passes on a vote that version 1.0.0 has stored. */
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

export function createVotes(options: {
  store: Pick<TaskStore<Task>, "get" | "replace">;
  gate: Pick<Gate, "mayAskThere">;
  destinations: ReadonlyMap<string, WorkerDestination>;
  zoneSecret: () => ZoneSecretValues | Promise<ZoneSecretValues>;
  findEmail: FindEmail | undefined;
  newId: () => string;
  log: Log;
  now: () => number;
}): Votes {
  const { store, gate, destinations, zoneSecret, findEmail, newId, log, now } = options;

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
    const key = taskId === undefined ? { request_id: task.id } : { task_id: taskId };
    // The token says whose task it is. Who votes is told by the opaque id only.
    const asker = await findAsker({ destination, task, isOwnWord: false, findEmail, signal });
    await destination.client.call({
      method: "feedback",
      params: {
        ...key,
        vote: vote.vote,
        voter_id: vote.voterId,
        voted_at: new Date(vote.atMs).toISOString(),
      },
      id: newId(),
      requestId: task.id,
      ...(asker && { asker }),
      sessionId,
      timeoutMs: Math.min(callTimeoutMs, destination.callTimeoutMs),
      trace: task.trace,
      signal,
    });
  }

  /** Rejects if a repetition may succeed. */
  async function passOn(request: {
    task: Task;
    voterId: string;
    signal: AbortSignal;
  }): Promise<void> {
    const { task, voterId, signal } = request;
    const vote = task.votes?.find((candidate) => candidate.voterId === voterId);
    if (vote === undefined) return;
    try {
      await call({ task, vote, signal });
    } catch (cause) {
      const error = SekishoError.from(cause);
      const { reason } = error;
      // Neither is an answer of the zone about the vote.
      if (isTransient(error) || reason === "invalid_response") throw cause;
      log.info("vote_not_passed", {
        request_id: task.id,
        trace_id: readTraceId(task.trace),
        reason,
      });
    }
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
      const item = addVote(task, { voterId, vote, atMs });
      // Another writer was first.
      if (item !== task && (await store.replace({ item })) === undefined) return "held";
      // Also for a click that comes again, because this may have failed, or its worker died.
      await passOn({ task: item, voterId, signal });
      return undefined;
    },

    async pass({ given: { requestId, voterId }, signal }) {
      const task = await store.get({ id: requestId });
      if (task !== undefined) await passOn({ task, voterId, signal });
    },
  };
}

/** A delivered answer is erased some minutes later. A task whose erased outcome was something else still has it. */
function isAnswerErased(task: Task): boolean {
  return task.textsErased === true && task.outcome === undefined && !hasFailedDelivery(task);
}

/** Returns the same object if the person's stored vote is as new as this one. */
function addVote(task: Task, vote: Vote): Task {
  const { votes = [] } = task;
  const earlierVote = votes.find(({ voterId }) => voterId === vote.voterId);
  if (earlierVote !== undefined && earlierVote.atMs >= vote.atMs) return task;
  const otherVotes = votes.filter((candidate) => candidate !== earlierVote);
  return { ...task, votes: [...otherVotes, vote].slice(-maxVoters) };
}
