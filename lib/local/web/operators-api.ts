/** What the operators' page and its server exchange below `/operate/api/`. Types only: the server and the browser import them. */
import type { TimelineStep } from "./timeline-step.ts";

/** `GET where`. */
export type Where = {
  /** In the page's head: "this machine", "stage prod". */
  name: string;
  /** True if people sign in, and so can sign out. */
  signsIn: boolean;
  /** The address of the local page of the same server. */
  localPage?: string | undefined;
};

/** One row of the list of tasks: ids, states and times, never a text. */
export type TaskRow = {
  id: string;
  state: string;
  /** `open` is under way. `stopped` neither failed nor has an answer: refused or canceled. */
  kind: "open" | "good" | "bad" | "stopped";
  /** The outcome, or what is next. */
  text: string;
  receivedAtMs: number;
  changedAtMs: number;
  /** The planned time of the next step. Not a promise. */
  nextAtMs?: number | undefined;
  destination?: string | undefined;
  team: string;
  channel: string;
  user: string;
  thread: string;
  taskId?: string | undefined;
  attempts: number;
  polls: number;
  percent?: number | undefined;
  /** Its answer could not be posted in the thread. */
  undelivered?: true;
  retryOf?: string | undefined;
  /** How many people found the answer helpful, and how many did not. */
  votes?: { up: number; down: number };
};

/** An event of `GET live`. `more` names the states of which there are more tasks than are listed. */
export type TaskListUpdate =
  | { type: "all"; rows: TaskRow[]; more: string[] }
  | { type: "change"; rows: TaskRow[]; gone: string[]; more: string[] }
  | { type: "trouble"; text: string };

/** `GET tasks`: a page of the tasks of one state, newest first. */
export type TaskPage = { rows: TaskRow[]; cursor?: string | undefined };

export type TaskAction = "cancel" | "retry" | "redrive";

/** `GET tasks/*`. */
export type TaskDetail = {
  row: TaskRow;
  /** The stored record without its texts. The page uses these fields of it, and shows all. */
  task: {
    message: { textLength: number; files?: number | undefined };
    call?: { deadlineAtMs?: number | undefined } | undefined;
    history: readonly { state: string; atMs: number }[];
  };
  endedAtMs?: number | undefined;
  traceId?: string | undefined;
  timeline: readonly TimelineStep[];
  /** What is missing in the timeline, and why. */
  note?: string | undefined;
  /** Why an action is not possible. */
  whyNot: Partial<Record<TaskAction, string | undefined>>;
};

/** `POST tasks/*` with an action. `requestId` is the new task of a retry, `later` says why nothing happens yet. */
export type ActionResult = {
  text: string;
  requestId?: string | undefined;
  later?: string | undefined;
};

/** `GET tasks/*`/link. */
export type ThreadLink = { link?: string | undefined };

/** `GET names`: names by id. Those that Slack does not give are left out. */
export type NamesById = { users: Record<string, string>; channels: Record<string, string> };

export type DestinationRow = {
  name: string;
  transport: string;
  protocol: string;
  address: string;
  /** The address of the messages, where the configuration overrides the one in the agent card. */
  url?: string | undefined;
  authorizer: string;
  idempotent: boolean;
  deadlineMs: number;
  /** The routes that lead here and the choice that it is in each. Both count from 1. */
  routes: { position: number; choice: number }[];
  needsDeploy: boolean;
};

export type DestinationHealth = {
  checkedAtMs: number;
  health: {
    health: "healthy" | "unhealthy" | "unreachable" | "unknown";
    summary: string;
    firstMs?: number | undefined;
    secondMs?: number | undefined;
  };
};

/** `GET destinations`. */
export type DestinationsView = {
  destinations: (DestinationRow & { checking: boolean } & Partial<DestinationHealth>)[];
  routes: { position: number; fits: string; leads: string }[];
};

/** A row of the list. It holds no text of a message. */
export type DeadLetterRow = {
  key: string;
  /** Null if the message cannot be read. */
  requestId: string | null;
  kind: string;
  keptAtMs: number;
  /** The state of its task, or "none" if it was never begun. */
  task: string;
  reason: string;
};

/** `GET dead-letters`. `about` explains the list, and what a redrive does. */
export type DeadLettersView = { about: string; rows: DeadLetterRow[] };

export type RedrivenTask = { requestId: string; task: string };

/** `POST dead-letters/redrive`: those that are on their way again. */
export type RedriveResult = { redriven: RedrivenTask[] };
