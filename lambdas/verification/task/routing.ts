/**
 * Where a task goes: the configuration that the machine needs, the destination by its route, the session there, and the derived ids of
 * requests and sessions. The same input gives the same id on every machine.
 */
import { createHash, createHmac } from "node:crypto";
import type { UserMessage } from "./messages.ts";
import type { Task, TaskCall } from "./task.ts";

/** The part of the configuration and of the zone that the task machine needs. */
export type Policy = {
  /** The names of the destinations in the order of preference; none where no route fits. */
  routeOf(message: Task["message"]): readonly string[];
  destinations: ReadonlyMap<string, DestinationPolicy>;
  /** How many files the answer has. The same at every call for the same outcome. */
  fileCountOf(task: Pick<Task, "outcome">): number;
  /** Whether a reply without a mention is for the bot in a thread where the bot was asked before. */
  threadReplies: boolean;
  /** Whether a slash command is answered in the direct message with the person. */
  commandsPrivately: boolean;
  /** The time between delivery and cleanup. A post that timed out must have landed by then. */
  sweepAfterMs: number;
  /** The key of session ids. Absent in the handler of dead letters, which sends no task. */
  zoneSecret?: string | undefined;
};

export type DestinationPolicy = {
  /** The time that a task may take from its turn on. The time in which it waits for a person does not count. */
  deadlineMs: number;
  /** A digest of the address. A changed digest means another peer. */
  address: string;
  /** The peer deduplicates by request id, so that an ambiguous send may be repeated. */
  idempotent: boolean;
  /** End the session when the task is over. Each task then has a session of its own. */
  stopAfterResult: boolean;
  /** `thread`: the tasks of one thread run one at a time, in order. */
  concurrency: "thread" | "parallel";
  /** The longest time that a question stays open. */
  questionMs: number;
  /** How long a poll may wait at the destination for news; 0: no long poll. */
  longPollMs: number;
};

/** The policy of the task's destination. One that was removed from the configuration counts as one that does not deduplicate. */
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

/** The task with its destination: the present one while the configuration has it, else the first of its route. Undefined without any. */
export function chooseDestination(task: Task, policy: Policy): Task | undefined {
  const names = task.call === undefined ? [] : [task.call.destination];
  const to = [...names, ...policy.routeOf(task.message)].find((name) => policy.destinations.has(name));
  return to === undefined ? undefined : withDestination(task, { to, policy });
}

/** The names of the destinations that the task may go to: the present one first, then the others of its route in order. */
export function targetsOf(task: Task, policy: Policy): string[] {
  const present = task.call?.destination ?? "";
  if (isPinned(task)) return [present];
  const names = policy.routeOf(task.message).filter((name) => policy.destinations.has(name));
  const index = names.indexOf(present);
  return index < 0 ? [present, ...names] : [...names.slice(index), ...names.slice(0, index)];
}

/**
 * The task with `to` as its destination, and the session there. A session that the task began at another destination is dropped. The
 * params name the thread's session, so that the agent knows the conversation whichever session runs it.
 */
export function withDestination(task: Task, { to, policy }: { to: string; policy: Policy }): Task {
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

/** The task without the params of `execute_task`, which are not needed once the task is accepted. */
export function withoutParams(task: Task): Task {
  if (task.call === undefined) return task;
  const { params: _params, ...call } = task.call;
  return { ...task, call };
}

/** The task after its session answered a call: the session no longer counts as new. */
export function inKnownSession(task: Task): Task {
  if (task.call === undefined) return task;
  const { isSessionNew: _isNew, ...call } = task.call;
  return { ...task, call };
}

/** The task with a new session of its own: the present one refused, because it would end before the task. */
export function inNewSession(task: Task, policy: Policy): Task {
  const ownSessions = (task.call?.ownSessions ?? 0) + 1;
  const sessionId = sessionOf(task, { isOwn: true, ownSessions, policy });
  return withCall(task, { ownSessions, isSessionNew: true, sessionId });
}

/** The session of the thread, or the task's own: where each task has one (`isOwn`), or where this one had to begin one. */
function sessionOf(
  { id, message, threadRef }: Task,
  {
    isOwn,
    ownSessions = 0,
    policy: { zoneSecret },
  }: { isOwn: boolean; ownSessions?: number | undefined; policy: Policy },
): string {
  const own = ownSessions > 0 ? `${id}/${ownSessions}` : id;
  return sessionIdOf({ message, threadRef, perTask: isOwn || ownSessions > 0 ? own : undefined, zoneSecret });
}

/** Sekisho's own namespace, drawn at random once. Another value would make every post look new: never change it. */
const namespace = "5e1be58b-d86d-4b02-a7c9-f1c9c9286957";

/**
 * The request id is a UUIDv5 (RFC 9562 section 5.5) of what names a Slack post, so that every delivery of the post gives the same id.
 * `app_mention` and `message`, redeliveries and Slack's retries have the same app, channel and `ts`. For a slash command `ts` is the
 * trigger's id, which never looks like a post's.
 */
export function requestIdOf({ appId, channel, ts }: { appId: string; channel: string; ts: string }): string {
  return uuidV5({ namespace, name: JSON.stringify([appId, channel, ts]) });
}

/** The id of the message that a conversation with the assistant was opened. Its name has four parts, so that it equals no post's id. */
export function conversationOpenedIdOf(thread: { appId: string; channel: string; threadTs: string }): string {
  return uuidV5({ namespace, name: JSON.stringify(["assistant", thread.appId, thread.channel, thread.threadTs]) });
}

/** UUIDv5: the first 16 bytes of the SHA-1 of the namespace's bytes and the name's UTF-8, with version 5 and the RFC's variant set. */
export function uuidV5({ namespace, name }: { namespace: string; name: string }): string {
  const bytes = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * The request id of an operator's retry. It is derived, so that the same retry asked for twice is one task.
 * `originalId` is the id of the post's own task, never that of a retry; `count` is 1 for its first retry.
 */
export function retryIdOf({ originalId, count }: { originalId: string; count: number }): string {
  return uuidV5({ namespace: originalId, name: `retry ${count}` });
}

/**
 * The session id keeps a conversation on one warm runtime. It is derived from app, channel and thread (in a direct message: the
 * channel): 66 characters of `sessionIdSchema`. Keyed with the zone's secret, so that nobody who knows the thread can compute it.
 * With `perTask` (a request id) each task has a session of its own, so that stopping it affects no other task.
 */
export function sessionIdOf({
  message,
  threadRef,
  perTask,
  zoneSecret,
}: {
  message: Pick<UserMessage, "appId" | "channel" | "ts" | "threadTs" | "direct">;
  threadRef?: { channel: string; threadTs: string } | undefined;
  perTask: string | undefined;
  zoneSecret: string | undefined;
}): string {
  // Without the secret anybody could compute the id.
  if (!zoneSecret) throw new Error("A session id needs the zone's secret.");
  const { channel, threadTs } = threadRef ?? { channel: message.channel, threadTs: message.threadTs ?? message.ts };
  const conversation = message.direct ? channel : [channel, threadTs];
  const name = JSON.stringify(["session", message.appId, conversation, perTask ?? null]);
  return `s-${createHmac("sha256", zoneSecret).update(name).digest("hex")}`;
}
