/** The type of a case, and what it gets to work with. */
import type { TestAsker } from "./asker.ts";
import type { FileServer } from "./file-server.ts";
import type { Observation, PeerOfCase } from "./peer.ts";
import type { SharedTasks, Texts, Waits } from "./tasks.ts";

export type Profile = "https" | "agentcore";

export type CaseRun = {
  peer: PeerOfCase;
  texts: Texts;
  tasks: SharedTasks;
  files: FileServer | undefined;
  /** Makes the tokens that say who asked. Undefined if the endpoint is to get none. */
  asker: TestAsker | undefined;
  waits: Waits;
  isIdempotent: boolean;
  now: () => number;
  /** Rejects when the run ends. */
  sleep: (ms: number) => Promise<void>;
  /** Names what the case does next, for the report. */
  step: (what: string) => void;
  /** Everything that was exchanged so far. Complete in a case with `sumsUp`. */
  observations: readonly Observation[];
  /** The session in which a mark was sent. */
  findMark: (mark: string) => string | undefined;
};

export type ConformanceCase = {
  /** Its theme and subject, as in `envelope/batch`. */
  name: string;
  /**
   * `required`: the Verification zone cannot work with an endpoint that does otherwise, or it is not safe. `idempotent`: required
   * of an endpoint that is declared to deduplicate, else strict. `leak`: fails the run at every level.
   */
  level: "required" | "strict" | "idempotent" | "leak";
  /** What was sent, and what should come. One sentence for a person. */
  expects: string;
  /** The heading in docs/reference/contract.md that says so. */
  section: string;
  /** What to do about a failure. */
  advice: string;
  /** Runs only under this profile. */
  profile?: Profile;
  /** Runs only if the endpoint verifies who asked. */
  needsAsker?: boolean;
  /** The cases that must have passed. Otherwise this one is skipped. */
  needs?: readonly string[];
  /** The cases that must be over first, however they end. */
  after?: readonly string[];
  /** Looks at a task once more, some seconds after its end. */
  isSecondLook?: boolean;
  /** Runs after all others, and judges what they have seen. */
  sumsUp?: boolean;
  /** Resolves to a description of the answer. Throws a Deviation or a NotApplicable. */
  check(run: CaseRun): Promise<string>;
};
