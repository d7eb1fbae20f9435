/**
 * Decides where a task goes: the destination by its route, the session there, and the derived ids of requests and sessions. The same input
 * gives the same id on every machine.
 */
import { createHash, createHmac } from "node:crypto";
import type { AnswerBy, Task, TaskCall, TaskRoute } from "./task.ts";

/** The part of the configuration and of the zone that the task machine needs. */
export type Policy = {
  /** Returns the routes that the person may use in the message's channel, in the order of the configuration. */
  routesOf(message: Task["message"]): readonly UsableRoute[];
  destinations: ReadonlyMap<string, DestinationPolicy>;
  /** True if Slack is asked about the message for the agent: for names of ids in it, for its channel, or for what the person has open. */
  needsLookups(message: Task["message"]): boolean;
  /** Adds names to the ids in a text for the agent. */
  addNames(text: string, names: Readonly<Record<string, string>>): string;
  /** Returns how many files the answer has. It must be deterministic for one outcome. */
  fileCountOf(task: Pick<Task, "outcome">): number;
  /** True if a reply without a mention is for the bot in a thread where the bot was asked before. */
  threadReplies: boolean;
  /** True if a message that is nothing but the word for help is answered without a task. */
  helpWord: boolean;
  /** True if a direct message with a person is one conversation. Otherwise each of its threads is one, as in a channel. */
  oneDirectConversation: boolean;
  /** True if a slash command is answered in the direct message with the person. */
  commandsPrivately: boolean;
  /** The time between delivery and cleanup. A post that timed out must have arrived by then. */
  sweepAfterMs: number;
  /** How long the record of a finished task is kept for reports of use, and whether with its texts. */
  usage: { retentionDays: number; texts: boolean };
  /** The key of session ids. Absent in the handler of dead letters, which sends no task. */
  zoneSecret?: ZoneSecretValues | undefined;
};

/** The zone's secret, and the one that it replaced until an operator drops it. */
export type ZoneSecretValues = {
  current: string;
  /** Keys the ids of conversations that began before `beforeMs`. */
  former?: { value: string; beforeMs: number } | undefined;
};

export type UsableRoute = {
  /** Identifies the route: its workspace, channel and word. */
  key: string;
  /** In order of preference. */
  destinations: readonly string[];
  /** Only messages that begin with the route's word match. Such a message names the route. */
  hasWord: boolean;
  /** The text that the agent gets. Undefined if the message does not match. */
  text: string | undefined;
  /** The agents of other routes may read its answers in a thread. */
  sharesHistory: boolean;
};

/** Returns the first route that the message matches. */
export function matchRoute(usable: readonly UsableRoute[]): UsableRoute | undefined {
  return usable.find(({ text }) => text !== undefined);
}

export type DestinationPolicy = {
  /** The time that a task may take once its turn has come. Waiting for a person does not count. */
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
  /** Who may answer. */
  answerBy: AnswerBy;
  /** How long a poll may wait at the destination for news; 0: no long poll. */
  longPollMs: number;
  /** The longest gap between two polls that Sekisho chooses by itself. A longer `poll_after_ms` of the host is obeyed. */
  maxPollGapMs: number;
};

/** Returns the policy of the task's destination. If it was removed from the configuration, it counts as not deduplicating. */
export function destinationOf(task: Task, policy: Policy): DestinationPolicy {
  const knownDestination =
    task.call === undefined ? undefined : policy.destinations.get(task.call.destination);
  return knownDestination ?? removedDestination;
}

const removedDestination: DestinationPolicy = {
  deadlineMs: 0,
  address: "",
  idempotent: false,
  stopAfterResult: false,
  concurrency: "thread",
  questionMs: 0,
  answerBy: "asker",
  longPollMs: 0,
  maxPollGapMs: Number.POSITIVE_INFINITY,
};

/**
 * Keeps the task's destination while it is configured and of the task's route, or else chooses the route's first. Returns undefined if there
 * is none.
 */
export function chooseDestination(task: Task, policy: Policy): Task | undefined {
  const { route, call } = task;
  const names = destinationsOf(task, policy);
  const present =
    call === undefined || (route && !names.includes(call.destination)) ? [] : [call.destination];
  const to = [...present, ...names].find((name) => policy.destinations.has(name));
  if (to !== undefined) return withDestination(task, { to, policy });
  return route && leaveRoute(task, policy);
}

/** Returns the destination to which a task of the route goes at first. */
export function firstDestination(
  { destinations }: TaskRoute,
  policy: Policy,
): DestinationPolicy | undefined {
  const to = destinations.find((name) => policy.destinations.has(name));
  return to === undefined ? undefined : policy.destinations.get(to);
}

/** Returns the names of the destinations in order of preference, or none if no route matches. */
function destinationsOf({ route, message }: Task, policy: Policy): readonly string[] {
  return (route ?? matchRoute(policy.routesOf(message)))?.destinations ?? [];
}

/** True if the edited message matches another route than before. The task joins its thread again then, so that it goes there. */
export function leadsElsewhere(request: { task: Task; edited: Task; policy: Policy }): boolean {
  const keyOf = ({ message }: Task) => matchRoute(request.policy.routesOf(message))?.key;
  return keyOf(request.task) !== keyOf(request.edited);
}

/** Goes on without the earlier answers: all destinations of the route were removed after the task had joined its thread. */
function leaveRoute(task: Task, policy: Policy): Task | undefined {
  const matching = matchRoute(policy.routesOf(task.message));
  const to = matching?.destinations.find((name) => policy.destinations.has(name));
  if (matching === undefined || to === undefined) return undefined;
  const { key, destinations } = matching;
  const change = { reason: "gone", isAnew: true } as const;
  const route: TaskRoute = { key, destinations: [...destinations], omitsUnmarked: true, change };
  return withDestination({ ...withoutHistory(task), route }, { to, policy });
}

/** Returns the names of the possible destinations: the present one first, then the others of its route in order. */
export function targetsOf(task: Task, policy: Policy): string[] {
  const present = task.call?.destination ?? "";
  if (isPinned(task)) return [present];
  const names = destinationsOf(task, policy).filter((name) => policy.destinations.has(name));
  const index = names.indexOf(present);
  return index < 0 ? [present, ...names] : [...names.slice(index), ...names.slice(0, index)];
}

/**
 * Sets the destination and its session. A session that the task began at another destination is dropped. The params name the thread's
 * session, so that the agent knows the conversation whichever session runs the task.
 */
export function withDestination(task: Task, { to, policy }: { to: string; policy: Policy }): Task {
  const isOwn = policy.destinations.get(to)?.stopAfterResult === true;
  const conversation = sessionOf(task, { isOwn, policy });
  const { call = { destination: to, sessionId: conversation, arrival: "none" } } = task;
  const isMoved = call.destination !== to;
  const { isSessionNew: _isNew, ownSessions: _own, ...sessionless } = call;
  const ownSessions = isMoved ? undefined : call.ownSessions;
  const directedCall: TaskCall = {
    ...(isMoved ? sessionless : call),
    destination: to,
    sessionId:
      ownSessions === undefined ? conversation : sessionOf(task, { isOwn, ownSessions, policy }),
    ...(call.params && { params: { ...call.params, session_id: conversation } }),
  };
  return { ...task, call: directedCall };
}

/** True if the destination's address has changed since the task was sent. */
export function hasMoved(task: Task, policy: Policy): boolean {
  const address = task.call?.address;
  return address !== undefined && address !== destinationOf(task, policy).address;
}

/** True if the task stays with its destination, because a send may have left something there. */
export function isPinned({ call }: Task): boolean {
  return call !== undefined && call.arrival !== "none";
}

/** True if an earlier send without a response may have arrived. */
export function mayHaveArrived({ call }: Task): boolean {
  return call?.arrival === "in_doubt";
}

/** Changes the task's call. A task without a destination has none, and is returned unchanged. */
export function withCall(task: Task, changes: Partial<TaskCall>): Task {
  return task.call === undefined ? task : { ...task, call: { ...task.call, ...changes } };
}

/** Drops the params of `execute_task`, which are not needed once the task is accepted. */
export function withoutParams(task: Task): Task {
  if (task.call === undefined) return task;
  const { params: _params, ...call } = task.call;
  return { ...task, call };
}

function withoutHistory(task: Task): Task {
  const { history: _history, ...params } = task.call?.params ?? {};
  return "text" in params ? withCall(task, { params }) : task;
}

/** Marks the task's session as no longer new, because it has answered a call. */
export function confirmSession(task: Task): Task {
  if (task.call === undefined) return task;
  const { isSessionNew: _isNew, ...call } = task.call;
  return { ...task, call };
}

/** Gives the task a new session of its own, because the present one refused: it would end before the task. */
export function assignNewSession(task: Task, policy: Policy): Task {
  const ownSessions = (task.call?.ownSessions ?? 0) + 1;
  const sessionId = sessionOf(task, { isOwn: true, ownSessions, policy });
  return withCall(task, { ownSessions, isSessionNew: true, sessionId });
}

/** Returns the conversation's session, or the task's own if each task has one (`isOwn`) or this one had to begin one. */
function sessionOf(
  task: Task,
  {
    isOwn,
    ownSessions = 0,
    policy,
  }: { isOwn: boolean; ownSessions?: number | undefined; policy: Policy },
): string {
  const { zoneSecret } = policy;
  const own = ownSessions > 0 ? `${task.id}/${ownSessions}` : task.id;
  const conversation = conversationOf(task, policy);
  return sessionIdOf({
    appId: task.message.appId,
    conversation,
    perTask: isOwn || ownSessions > 0 ? own : undefined,
    zoneSecret: zoneSecret && secretOfConversation({ conversation, zoneSecret }),
  });
}

/** The messages that share a session: those of a thread, or without `threadTs` those of a whole direct message. */
export type Conversation = { channel: string; threadTs?: string | undefined };

/** Ids of direct messages begin with D. The ingress imports this file, so nothing of the task's schema may be in it. */
function conversationOf(
  { message, threadRef }: Task,
  { oneDirectConversation }: Policy,
): Conversation {
  const { channel, threadTs } = threadRef ?? {
    channel: message.channel,
    threadTs: message.threadTs ?? message.ts,
  };
  return oneDirectConversation && channel.startsWith("D") ? { channel } : { channel, threadTs };
}

/**
 * Returns the secret that keys a conversation's ids. A conversation that may have begun before the secret was replaced keeps the former one,
 * and so its session: a thread by the time of its first message, a whole direct message always.
 */
export function secretOfConversation(request: {
  conversation: Conversation;
  zoneSecret: ZoneSecretValues;
}): string {
  const { conversation, zoneSecret } = request;
  const { current, former } = zoneSecret;
  if (former === undefined) return current;
  return Number(conversation.threadTs) * 1000 >= former.beforeMs ? current : former.value;
}

/** Sekisho's random namespace. Never change it, because another value would make every post look new. */
const namespace = "5e1be58b-d86d-4b02-a7c9-f1c9c9286957";

/**
 * Derives the request id from a Slack post as a UUIDv5 (RFC 9562 section 5.5), so that every delivery of the post has the same id:
 * `app_mention` and `message`, redeliveries and Slack's retries share app, channel and `ts`. For a slash command `ts` is the trigger id,
 * which never looks like a post's `ts`.
 */
export function requestIdOf({
  appId,
  channel,
  ts,
}: {
  appId: string;
  channel: string;
  ts: string;
}): string {
  return uuidV5({ namespace, name: JSON.stringify([appId, channel, ts]) });
}

/**
 * The id of a message about something else than a post: `assistant` for an opened conversation, `stopped` for the use of the stop button,
 * `shortcut` for a use of the message shortcut (`ts` is its trigger id), `modal` for a submitted modal (`ts` is the modal's id). Its name
 * has four parts, so that it never equals a post's id.
 */
export function interactionIdOf(request: {
  kind: "assistant" | "home" | "stopped" | "shortcut" | "modal";
  appId: string;
  channel: string;
  ts: string;
}): string {
  const { kind, appId, channel, ts } = request;
  return uuidV5({ namespace, name: JSON.stringify([kind, appId, channel, ts]) });
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
 * The request id of a retry. It is derived, so that requesting the same retry twice gives one task. Of an operator's retries `originalId` is
 * the id of the post's own task, never of a retry, and `count` is 1 for the first.
 */
export function retryIdOf({ originalId, count }: { originalId: string; count: number }): string {
  return uuidV5({ namespace: originalId, name: `retry ${count}` });
}

/**
 * Derives the session id, which keeps a conversation on one warm runtime, from the app and the conversation. It is keyed with the zone's
 * secret, so that knowing the thread is not enough to compute it. With `perTask` (a request id) each task has a session of its own, so that
 * stopping it affects no other task.
 */
export function sessionIdOf({
  appId,
  conversation: { channel, threadTs },
  perTask,
  zoneSecret,
}: {
  appId: string;
  conversation: Conversation;
  perTask: string | undefined;
  zoneSecret: string | undefined;
}): string {
  // Without the secret, anyone could compute the id.
  if (!zoneSecret) throw new Error("A session id needs the zone's secret.");
  const conversation = threadTs === undefined ? channel : [channel, threadTs];
  const name = JSON.stringify(["session", appId, conversation, perTask ?? null]);
  return `s-${createHmac("sha256", zoneSecret).update(name).digest("hex")}`;
}

/** An opaque id of a person who votes: the same for all of their votes under one secret. Without the zone's secret nobody can tell who it is. */
export function voterIdOf(request: { team: string; user: string; zoneSecret: string }): string {
  const { team, user, zoneSecret } = request;
  return createHmac("sha256", zoneSecret)
    .update(JSON.stringify(["voter", team, user]))
    .digest("hex")
    .slice(0, 32);
}
