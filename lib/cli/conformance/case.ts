/** The type of a case of the conformance command, and the two errors with which a case does not pass. */
import type { TaskResult } from "../../../contracts/methods.ts";
import type { PeerAnswer, PeerUnderTest } from "./peer.ts";

export type SentTask = { requestId: string; params: Readonly<Record<string, unknown>>; answer: PeerAnswer };
export type AcceptedTask = SentTask & { result: Extract<TaskResult, { status: "accepted" }> };

/** Two slow tasks, which all cases share because each may take as long as the peer waits. */
export type SlowTasks = {
  /** The first of them, whatever the peer answered. */
  first(): Promise<SentTask>;
  /** Each rejects with a NotApplicable where the peer did not answer `accepted`. */
  awaited(): Promise<AcceptedTask>;
  canceled(): Promise<AcceptedTask>;
};

/** The texts that are sent to the agent behind the peer. */
export type Texts = { plain: string; slow: string; fail: string; ask: string };

export type CaseRun = {
  peer: PeerUnderTest;
  texts: Texts;
  slowTasks: SlowTasks;
  now: () => number;
  sleep: (ms: number) => Promise<void>;
};

export type ConformanceCase = {
  /** Its theme and subject, as in `envelope/batch`. */
  name: string;
  /**
   * `required`: the Verification zone cannot work with a peer that does otherwise. `idempotent`: required of a peer that is
   * declared to deduplicate by request id, optional for others.
   */
  level: "required" | "optional" | "idempotent";
  /** One sentence for a person. */
  expects: string;
  /** Resolves to a description of the answer. Throws a Deviation or a NotApplicable. */
  check(run: CaseRun): Promise<string>;
};

export const required = caseOf("required");
export const optional = caseOf("optional");
export const ifIdempotent = caseOf("idempotent");

function caseOf(level: ConformanceCase["level"]) {
  return (name: string, expects: string, check: ConformanceCase["check"]): ConformanceCase => {
    return { name, level, expects, check };
  };
}

/** The peer breaks the case. The message describes its answer. */
export class Deviation extends Error {
  override name = "Deviation";
}

/** The case cannot be tried with this peer. The message says why. */
export class NotApplicable extends Error {
  override name = "NotApplicable";
}
