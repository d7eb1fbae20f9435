/** The part of the configuration and of the zone that the task machine needs. */

import type { Task } from "./task.ts";

export type DestinationPolicy = {
  /** Time that a task may take from its turn on, in milliseconds; the time in which it waits for a person does not count. */
  deadlineMs: number;
  /** A digest of where it leads: another one is another peer. */
  address: string;
  /** The peer deduplicates by request id, so that an ambiguous send may be repeated. */
  idempotent: boolean;
  /** End the session when the task is over; the session is then the task's own. */
  stopAfterResult: boolean;
  /** `thread`: the tasks of one thread one at a time, in order. */
  concurrency: "thread" | "parallel";
  /** How long a question stays open at the longest. */
  questionMs: number;
  /** How long a poll may wait at the destination for news; 0: it answers at once. */
  longPollMs: number;
};

export type Policy = {
  /** The destinations that the routes give, of which the first is to be tried first; none where no route fits. */
  routeOf(message: Task["message"]): readonly string[];
  destinations: ReadonlyMap<string, DestinationPolicy>;
  /** How many files the answer comes with. The same at every call for the same outcome. */
  fileCountOf(task: Pick<Task, "outcome">): number;
  /** A reply in a thread of the bot is for the bot, without a mention. */
  threadReplies: boolean;
  /** A slash command is answered where only the person reads it. */
  commandsPrivately: boolean;
  /** When the thread is looked at once more after the delivery: a post that timed out must have landed by then. */
  sweepAfterMs: number;
  /** Session ids are keyed with it. Absent where no task is sent anywhere: in the handler of dead letters. */
  zoneSecret?: string | undefined;
};

/** A destination that the configuration no longer names is treated as one that cannot be asked twice. */
export function destinationOf(task: Task, policy: Policy): DestinationPolicy {
  const known = task.destination === undefined ? undefined : policy.destinations.get(task.destination);
  return known ?? gone;
}

const gone: DestinationPolicy = {
  deadlineMs: 0,
  address: "",
  idempotent: false,
  stopAfterResult: false,
  concurrency: "thread",
  questionMs: 0,
  longPollMs: 0,
};
