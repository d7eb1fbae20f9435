/** What was given up on and can be tried again, whatever keeps it. */

/** No text of a message is in it. `task`: its state, or "none" where it was never begun. */
export type DeadLetterRow = {
  key: string;
  /** Null where the message cannot be read. */
  requestId: string | null;
  kind: string;
  keptAtMs: number;
  task: string;
  reason: string;
};

export type RedrivenLetter = { requestId: string; task: string };

export type DeadLetters = {
  /** What the list is, and what a redrive does. */
  about: string;
  list(): Promise<DeadLetterRow[]>;
  /** Undefined: all that can be read. Resolves to those that are on their way again. */
  redrive(requestIds: readonly string[] | undefined): Promise<RedrivenLetter[]>;
};
