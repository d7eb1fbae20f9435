/** Where a task goes: the configuration that the machine needs, the destination by its route, and the session there. */
import { sessionIdOf } from "./ids.ts";
import type { Task, TaskCall } from "./task.ts";

/** The part of the configuration and of the zone that the task machine needs. */
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

/** A destination that the configuration no longer names is treated as one that cannot be asked twice. */
export function destinationOf(task: Task, policy: Policy): DestinationPolicy {
  const known = task.call === undefined ? undefined : policy.destinations.get(task.call.destination);
  return known ?? removedDestination;
}

const removedDestination: DestinationPolicy = {
  deadlineMs: 0,
  address: "",
  idempotent: false,
  stopAfterResult: false,
  concurrency: "thread",
  questionMs: 0,
  longPollMs: 0,
};

/** The task with its destination: the one chosen before while the configuration has it, else by its route. Undefined where there is none. */
export function chooseDestination(task: Task, policy: Policy): Task | undefined {
  const names = task.call === undefined ? [] : [task.call.destination];
  const to = [...names, ...policy.routeOf(task.message)].find((name) => policy.destinations.has(name));
  return to === undefined ? undefined : directTo(task, { to, policy });
}

/** Where the task may be sent, its present destination first, then the others of its route in their order. At least one. */
export function targetsOf(task: Task, policy: Policy): string[] {
  const present = task.call?.destination ?? "";
  if (isPinned(task)) return [present];
  const names = policy.routeOf(task.message).filter((name) => policy.destinations.has(name));
  const index = names.indexOf(present);
  return index < 0 ? [present, ...names] : [...names.slice(index), ...names.slice(0, index)];
}

/**
 * The session is that of the destination; a session that the task had to begin elsewhere is left. The agent is told the
 * conversation, which is the same in every session.
 */
export function directTo(task: Task, { to, policy }: { to: string; policy: Policy }): Task {
  const isOwn = policy.destinations.get(to)?.stopAfterResult === true;
  const conversation = sessionOf(task, { isOwn, policy });
  const { call = { destination: to, sessionId: conversation, arrival: "none" } } = task;
  const isMoved = call.destination !== to;
  const { isSessionNew: _isNew, ownSessions: _own, ...sessionless } = call;
  const ownSessions = isMoved ? undefined : call.ownSessions;
  const directed: TaskCall = {
    ...(isMoved ? sessionless : call),
    destination: to,
    sessionId: sessionOf(task, { isOwn, ownSessions, policy }),
    ...(call.params && { params: { ...call.params, session_id: conversation } }),
  };
  return { ...task, call: directed };
}

/** Whether the destination leads elsewhere than where the task was sent. */
export function hasMoved(task: Task, policy: Policy): boolean {
  const address = task.call?.address;
  return address !== undefined && address !== destinationOf(task, policy).address;
}

/** Whether the task stays with its destination, because a send may have left something there. */
export function isPinned({ call }: Task): boolean {
  return call !== undefined && call.arrival !== "none";
}

/** Whether an earlier send may have arrived although no answer to it came. */
export function mayHaveArrived({ call }: Task): boolean {
  return call?.arrival === "in_doubt";
}

/** The task with changes of its call. One that has no destination yet has no call to change. */
export function withCall(task: Task, changes: Partial<TaskCall>): Task {
  return task.call === undefined ? task : { ...task, call: { ...task.call, ...changes } };
}

/** What was to be sent is needed no longer. */
export function withoutParams(task: Task): Task {
  if (task.call === undefined) return task;
  const { params: _params, ...call } = task.call;
  return { ...task, call };
}

/** The session was reached: from now on its age is unknown. */
export function inKnownSession(task: Task): Task {
  if (task.call === undefined) return task;
  const { isSessionNew: _isNew, ...call } = task.call;
  return { ...task, call };
}

/** The next session of the task's own: the one before refused, because it may end before the task does. */
export function inNewSession(task: Task, policy: Policy): Task {
  const ownSessions = (task.call?.ownSessions ?? 0) + 1;
  const sessionId = sessionOf(task, { isOwn: true, ownSessions, policy });
  return withCall(task, { ownSessions, isSessionNew: true, sessionId });
}

/** The session of the thread, or the task's own: where each task has one (`isOwn`), or where this one had to begin one. */
function sessionOf(
  { id, message, place }: Task,
  {
    isOwn,
    ownSessions = 0,
    policy: { zoneSecret },
  }: { isOwn: boolean; ownSessions?: number | undefined; policy: Policy },
): string {
  const own = ownSessions > 0 ? `${id}/${ownSessions}` : id;
  return sessionIdOf({ message, place, perTask: isOwn || ownSessions > 0 ? own : undefined, zoneSecret });
}
