/** One simulated world: what is in it, what happens to it, and what was seen. See README.md for what is assumed of the real one. */
import type {
  PostedMessage,
  SessionStatus,
  SlackBlock,
} from "@sekisho/verification/slack/api/slack.ts";
import type {
  TransportRequest,
  TransportResponse,
} from "@sekisho/verification/transport/transport.ts";
import type { SentCall } from "./askers.ts";
import type { Engine } from "./engines.ts";
import type { Kind, Point } from "./faults.ts";
import type { Leaks } from "./leaks.ts";
import type { Moment } from "./moments.ts";
import type { Names } from "./names.ts";
import { type Outage, outageFate } from "./outages.ts";
import type { Process, Zone } from "./processes.ts";
import type { Message } from "./sim-queue.ts";
import type { Story } from "./stories.ts";
import { currentEvent, later, worldMs } from "./virtual-time.ts";

/** One operation of one process, as it is told afterwards. */
export type Step = {
  at: number;
  atMs: number;
  process: string;
  zone: Zone;
  point: Point;
  /** Its subject, which addresses it in a scenario. Empty in a run that is not printed. */
  about: string;
  /** Further details for the printed run. */
  detail: string;
  fate: Kind | undefined;
  /** It met an outage. */
  isOutage: boolean;
  /** The event in which it began, and the one in which it was done, where nothing kept it from that. */
  beganIn: number;
  doneIn: number | undefined;
  /** The kinds of faults that were possible. */
  possible: readonly Kind[];
};

/** From when until when an agent was at work, and why it ended. */
export type AgentRun = {
  requestId: string;
  /** The number of the user's answers that it had: each is a run of its own. */
  turn: number;
  /** How many files it got. */
  files?: number;
  /** The answers in its history. */
  reads: readonly string[];
  fromMs: number;
  untilMs: number;
  end: "working" | "ended" | "stopped" | "died";
  /** When it wrote the first and the last token of an answer that can be read as it is written. */
  wroteFromMs?: number;
  wroteUntilMs?: number;
};

/** The fate of an operation. `holdBack` gets the effect of a slow one, and applies it later. */
export type Strike = { kind: Kind; holdBack?: (land: () => void) => void };

export type Turn = { linedUpMs: number; begunMs: number };

export type World = {
  engine: Engine;
  story: Story;
  /** Which version does what (`versions/mix.ts`); absent where there is one. */
  mix: string | undefined;
  /** How often one of two versions was chosen, by the part of the product. */
  turnsTaken: Map<string, number>;
  /** Parts of records that lost a member of the next version when the old one wrote them. */
  losses: string[];
  /** Draws a fate for the operation with that number. `about` is empty where the run is not told. */
  fateOf: (request: {
    at: number;
    point: Point;
    about: string;
    possible: readonly Kind[];
  }) => Strike | undefined;
  /** The subject of each operation is looked up, which takes time. */
  isTold: boolean;
  names: Names;
  startMs: number;
  outages: readonly Outage[];
  /** All pools of processes, each with a switch. */
  pools: { zone: Zone; off(): void; on(): void }[];
  /** Latencies and orders vary. */
  isRestless: boolean;
  steps: Step[];
  /** Sees all log lines, records and queue messages of both zones. */
  leaks: Leaks;
  /** Parts of an answer that were posted although they stood in the thread. */
  doubled: string[];
  /** When a stream began or grew in Slack. */
  streamedAtMs: number[];
  agentRuns: AgentRun[];
  /** The messages of people, as Slack returns them in the thread. */
  said: (PostedMessage & { channel: string; threadTs: string | undefined })[];
  /** The votes that reached the app, in order, and whether their person heard that they were taken. */
  votes: { user: string; vote: "up" | "down"; isTaken: boolean }[];
  /** The asker's click on the button to try again was taken. */
  isRetryTaken: boolean;
  /** To whom something was said that nobody else sees. */
  ephemeralMessages: { user: string; atMs: number }[];
  /** What Slack was asked about a person, the groups or a channel, by which process. */
  lookups: { what: string; process: Process | undefined; atMs: number }[];
  /** By thread: the status of its session as Slack has it, how many calls were made to set one, and the last one that Slack took. */
  sessions: Map<string, { status?: SessionStatus; calls: number; lastTaken: number }>;
  /** What each person sees on the App Home. */
  homes: Map<string, readonly SlackBlock[]>;
  /** The tasks that a person asked to end on the App Home, of which Slack was told that it was taken. */
  canceledAtHome: string[];
  /** How many streams a person has stopped by Slack's own button. */
  streamsStopped: number;
  /** By request id: when it first stood in the record of its thread, and when it could begin there. */
  turns: Map<string, Turn>;
  /** By request id: when a message, or an edit of it, first stood in the queue. */
  acceptedAtMs: Map<string, number>;
  /** By request id: when the outcome of a task first stood in its record. */
  endedAtMs: Map<string, number>;
  /** The messages that an older version left to a newer one, by their body: when, how many copies, and when the last of them was due. */
  messagesLeft: Map<string, { leftMs: number; copies: number; dueMs: number }>;
  /** By request id: when the first question of the agent first stood in the thread. */
  questionsShownAtMs: Map<string, number>;
  /** The calls as they left the Verification zone, in order. */
  sentCalls: SentCall[];
  /** How often something was to be signed. */
  signatures: number;
  newId: () => string;
  /** The recorded moment in which the world begins; absent for the beginning of the story (`moments.ts`). */
  from: Moment | undefined;
  /** The texts of the records of each store, and the messages of each queue, by their names. */
  stores: Map<string, () => string[]>;
  queues: Map<string, readonly Message[]>;
  /** A record was written to the store of that name. */
  onWritten: (store: string, json: string) => void;
  /** A message was sent to the queue of that name. */
  onQueued: (queue: string, body: string) => void;
  /** A host has answered. */
  onExchange: (exchange: { request: TransportRequest; response: TransportResponse }) => void;
};

/** Does something so long after the beginning of the story. What was before the moment in which the world begins was done. */
export function laterInStory({
  world,
  afterMs,
  run,
}: {
  world: World;
  afterMs: number;
  run: () => void;
}): void {
  const delayMs = world.startMs + afterMs - worldMs();
  if (delayMs >= 0) later({ delayMs, run });
}

export const maxOperations = 5000;

/** Counts the operation and says what becomes of it. */
export function meet({
  world,
  process,
  point,
  about: describe,
  detail = () => "",
}: {
  world: World;
  process: Process;
  point: Point;
  about: () => string;
  detail?: (() => string) | undefined;
}): {
  fate: Kind | undefined;
  holdBack: Strike["holdBack"];
  step: Step;
} {
  const at = world.steps.length + 1;
  const possible = world.engine.faults[point];
  const about = world.isTold ? describe() : "";
  const { outages, startMs } = world;
  const away =
    outages.length === 0
      ? undefined
      : outageFate({ outages, sinceMs: worldMs() - startMs, point, possible });
  const strike: Strike | undefined =
    away === undefined ? world.fateOf({ at, point, about, possible }) : { kind: away };
  const fate = strike?.kind;
  const { name, zone } = process;
  const step: Step = {
    at,
    atMs: worldMs(),
    process: name,
    zone,
    point,
    about,
    detail: world.isTold ? detail() : "",
    fate,
    isOutage: away !== undefined,
    beganIn: currentEvent(),
    doneIn: undefined,
    possible,
  };
  world.steps.push(step);
  return { fate, holdBack: strike?.holdBack, step };
}
