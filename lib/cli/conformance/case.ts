/** What a case of the conformance command is, and the two ways in which it does not end well. */

import type { TaskResult } from "../../../contracts/methods.ts";
import type { PeerUnderTest } from "./peer.ts";
import type { PeerAnswer } from "./peer-answer.ts";

export type AcceptedTask = {
  requestId: string;
  params: Readonly<Record<string, unknown>>;
  result: Extract<TaskResult, { status: "accepted" }>;
  came: string;
};

export type SlowTasks = {
  /** The first of them, whatever the peer said to it. */
  first(): Promise<SentTask>;
  /** Each rejects with a NotApplicable where the peer does not accept, and so gives no occasion. */
  awaited(): Promise<AcceptedTask>;
  canceled(): Promise<AcceptedTask>;
};

export type SentTask = { requestId: string; params: Readonly<Record<string, unknown>>; answer: PeerAnswer };

/**
 * `required`: the Verification zone cannot work with a peer that does otherwise. `idempotent`: required of a peer that is
 * declared to deduplicate by request id, optional for others.
 */
type Level = "required" | "optional" | "idempotent";

/** What the agent behind the peer is asked. */
export type Texts = { plain: string; slow: string; fail: string; ask: string };

export type CaseRun = {
  peer: PeerUnderTest;
  texts: Texts;
  slowTasks: SlowTasks;
  newId: () => string;
  now: () => number;
  sleep: (ms: number) => Promise<void>;
};

export type ConformanceCase = {
  /** Its theme and what it is about, as `envelope/batch`. */
  name: string;
  level: Level;
  /** One sentence for a person. */
  expects: string;
  /** Resolves to what came, in words. Throws a Deviation or a NotApplicable. */
  check(run: CaseRun): Promise<string>;
};

/** The peer does otherwise; the message says what came. */
export class Deviation extends Error {
  constructor(came: string) {
    super(came);
    this.name = "Deviation";
  }
}

/** The peer gives no occasion for the case; the message says why. */
export class NotApplicable extends Error {
  constructor(why: string) {
    super(why);
    this.name = "NotApplicable";
  }
}
