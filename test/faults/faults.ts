/** The kinds of faults, and the points at which a process talks to anything. */

export const kinds = [
  /** Certainly not done, and the party says so as its seam does. */
  "refused",
  /** Not done, and nobody knows. */
  "lost",
  /** Done, and nobody knows. */
  "answer_lost",
  /** Done after the caller gave up. */
  "slow",
  /** Done twice. */
  "repeated",
  /** Delivered a second time while the first delivery is handled. */
  "again",
  /** Delayed, so that others come first. */
  "overtaken",
  /** The response of another call comes back. */
  "stale",
  /** The process dies before anything is done. */
  "dies_before",
  /** The process dies when it is done, and does not hear of it. */
  "dies_after",
  /** Slack was asked too often, and says how long to wait. */
  "limited",
  /** Slack does not take the blocks of this content, nor of any like it. */
  "blocks_refused",
  /** Nobody may post there from then on: exempt from the promise of an answer. */
  "gone",
] as const;
export type Kind = (typeof kinds)[number];

/** `at` is the number of the operation in its run, counted from 1. */
export type Fault = { at: number; kind: Kind };

export type Point =
  | "slack.event"
  | "slack.button_click"
  | "slack.modal"
  | "slack.post"
  | "slack.update"
  | "slack.remove"
  | "slack.react"
  | "slack.stream"
  | "slack.replies"
  | "slack.upload"
  | "files.in"
  | "queue.send"
  | "queue.deliver"
  | "queue.finish"
  | "store.get"
  | "store.create"
  | "store.replace"
  | "store.list"
  | "transport.request"
  | "transport.response"
  | "tasks.get"
  | "tasks.create"
  | "tasks.replace"
  | "push.send"
  | "push.deliver"
  | "push.finish"
  | "work.send"
  | "work.deliver"
  | "work.finish"
  | "agent.start"
  | "agent.end"
  | "asker.sign";

/**
 * What is the same for everyone who could tell is one kind, so that searching through all pairs stays possible:
 * - a process that dies after a read, a reaction, or with an upload that nobody sees yet, has changed nothing: `dies_before`;
 * - a read whose answer is lost is a read that failed; a reaction is decoration, so only its time counts;
 * - an edit or a removal that is repeated is the same edit; a compare-and-set that is repeated fails the second time;
 * - neither store nor queue say whether a failed call was done: `refused` is their `lost`.
 */
export type FaultTable = Readonly<Record<Point, readonly Kind[]>>;

const everywhere = {
  "slack.event": ["lost", "answer_lost", "repeated"],
  "slack.button_click": ["lost"],
  "slack.modal": ["refused", "lost", "answer_lost", "dies_before", "dies_after"],
  "slack.post": [
    "refused",
    "lost",
    "answer_lost",
    "slow",
    "repeated",
    "overtaken",
    "dies_before",
    "dies_after",
    "limited",
    "blocks_refused",
    "gone",
  ],
  "slack.update": [
    "refused",
    "lost",
    "answer_lost",
    "slow",
    "overtaken",
    "dies_before",
    "dies_after",
    "limited",
    "blocks_refused",
    "gone",
  ],
  "slack.remove": [
    "refused",
    "lost",
    "answer_lost",
    "slow",
    "dies_before",
    "dies_after",
    "limited",
  ],
  "slack.react": ["refused", "slow", "dies_before"],
  "slack.stream": [
    "refused",
    "lost",
    "answer_lost",
    "slow",
    "dies_before",
    "dies_after",
    "limited",
    "gone",
  ],
  "slack.replies": ["refused", "lost", "slow", "dies_before", "limited"],
  "slack.upload": ["refused", "lost", "dies_before"],
  "files.in": ["refused", "lost", "dies_before"],
  "transport.request": [
    "refused",
    "lost",
    "slow",
    "repeated",
    "overtaken",
    "dies_before",
    "dies_after",
  ],
  "transport.response": ["lost", "slow", "stale", "dies_before"],
  "agent.start": ["dies_before", "dies_after"],
  "agent.end": ["dies_before"],
  "asker.sign": ["refused", "slow", "dies_before"],
} as const;

/** A file on the same machine: what is done is known, unless the process dies of it; order and delays are exact. */
const embeddedRead = ["lost", "dies_before"] as const;
const embeddedWrite = ["lost", "dies_before", "dies_after"] as const;
export const embeddedFaults: FaultTable = {
  ...everywhere,
  "queue.send": embeddedWrite,
  "queue.deliver": ["dies_before"],
  "queue.finish": embeddedWrite,
  "store.get": embeddedRead,
  "store.create": embeddedWrite,
  "store.replace": embeddedWrite,
  "store.list": embeddedRead,
  "tasks.get": embeddedRead,
  "tasks.create": embeddedWrite,
  "tasks.replace": embeddedWrite,
  "push.send": embeddedWrite,
  "push.deliver": ["dies_before"],
  "push.finish": embeddedWrite,
  "work.send": embeddedWrite,
  "work.deliver": ["dies_before"],
  "work.finish": embeddedWrite,
};

/** A service behind a network: answers get lost and come late, queues deliver at least once and in any order. */
const remoteRead = ["lost", "slow", "dies_before"] as const;
const remoteWrite = ["lost", "answer_lost", "slow", "dies_before", "dies_after"] as const;
export const remoteFaults: FaultTable = {
  ...everywhere,
  "queue.send": [...remoteWrite, "repeated"],
  "queue.deliver": ["repeated", "again", "overtaken"],
  "queue.finish": ["lost", "repeated"],
  "store.get": remoteRead,
  "store.create": remoteWrite,
  "store.replace": remoteWrite,
  "store.list": remoteRead,
  "tasks.get": remoteRead,
  "tasks.create": remoteWrite,
  "tasks.replace": remoteWrite,
  "push.send": [...remoteWrite, "repeated"],
  "push.deliver": ["repeated", "again", "overtaken"],
  "push.finish": ["lost", "repeated"],
  "work.send": [...remoteWrite, "repeated"],
  "work.deliver": ["repeated", "overtaken"],
  "work.finish": ["lost", "repeated"],
};
