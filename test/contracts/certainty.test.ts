/** What follows from each certainty of a failed call: certainty × question. */
import { describe, expect, it } from "@jest/globals";
import {
  canRepeat,
  type Failure,
  isEndOfTask,
  isGuessed,
  isTransient,
  isUndelivered,
  isUninformative,
  isUnknown,
  isUnread,
  mayHaveRun,
} from "@sekisho/contracts/certainty.ts";
import { type Certainty, type ClientReason, SekishoError } from "@sekisho/contracts/errors.ts";

const questions = {
  canRepeat,
  isTransient,
  isUndelivered,
  isGuessed,
  isUnknown,
  isUnread,
  isUninformative,
  isEndOfTask,
  mayHaveRun,
};
type Question = keyof typeof questions;

/** By certainty, for each reason that decides something, the questions whose answer is yes. */
const table: Record<Certainty, Partial<Record<ClientReason, readonly Question[]>>> = {
  undelivered: {
    unavailable: ["canRepeat", "isTransient", "isUndelivered"],
    session_ending: ["canRepeat", "isTransient", "isUndelivered"],
    unauthenticated: ["isUndelivered"],
    invalid_response: ["isUndelivered", "isUninformative"],
  },
  refused: {
    unavailable: ["canRepeat", "isTransient"],
    rate_limited: ["canRepeat", "isTransient"],
    permission_denied: [],
    task_not_found: [],
    invalid_response: ["isUninformative", "mayHaveRun"],
    execution_failed: ["isEndOfTask"],
    payload_too_large: ["isEndOfTask"],
  },
  guessed: {
    unavailable: ["isGuessed"],
    rate_limited: ["isGuessed"],
    internal: ["isGuessed"],
    timeout: ["isGuessed", "isEndOfTask"],
    invalid_response: ["isGuessed", "isUninformative", "mayHaveRun"],
  },
  unread: {
    payload_too_large: ["isUnread", "isUninformative", "mayHaveRun"],
  },
  ended: {
    rate_limited: ["isEndOfTask"],
    invalid_response: ["isUninformative", "isEndOfTask"],
  },
  unknown: {
    ambiguous: ["isTransient", "isUnknown", "mayHaveRun"],
  },
};

function answerAll(failure: Failure): string[] {
  return Object.entries(questions)
    .filter(([, ask]) => ask(failure))
    .map(([name]) => name);
}

describe("the certainty of a failed call", () => {
  const rows = Object.entries(table).flatMap(([certainty, reasons]) =>
    Object.entries(reasons).map(([reason, yes]) => ({ certainty, reason, yes })),
  ) as { certainty: Certainty; reason: ClientReason; yes: readonly Question[] }[];

  it.each(rows)(
    "gives the error $reason of certainty $certainty exactly the properties $yes",
    ({ certainty, reason, yes }) => {
      expect(answerAll(new SekishoError(reason, { certainty }))).toEqual(yes);
    },
  );

  it("derives the certainty from the reason unless it is given", () => {
    expect(new SekishoError("unavailable").certainty).toBe("refused");
    expect(new SekishoError("ambiguous").certainty).toBe("unknown");
  });
});
