/** The table of dialects, cell by cell, against the one of docs/reference/contract.md. */
import { describe, expect, it } from "@jest/globals";
import {
  dialectSchema,
  findReasonOfState,
  listErrorCodes,
  listReasons,
  toErrorCode,
  toHttpStatus,
} from "@sekisho/contracts/dialects.ts";
import { isRetryable, type Reason, reasons } from "@sekisho/contracts/errors.ts";
import { taskStateSchema } from "@sekisho/contracts/methods.ts";
import { errorTable, numbersIn, stateIn } from "./error-table.ts";

const dialects = dialectSchema.options;
const ownNumbers = { first: -32079, last: -32060 };

describe("the table of dialects", () => {
  it("lists exactly the reasons of the document, in its order", () => {
    expect(reasons).toEqual(errorTable.map((row) => row.reason));
  });

  it.each(errorTable)(
    "the reason $reason has the retryability and HTTP status of the document",
    ({ reason, retryable, http }) => {
      expect(isRetryable(reason as Reason)).toBe(retryable);
      expect(toHttpStatus(reason as Reason)).toBe(http);
    },
  );

  it.each(
    errorTable.flatMap(({ reason, cells }) =>
      dialects.map((dialect) => ({ reason, dialect, cell: cells[dialect] ?? "" })),
    ),
  )(
    "the reason $reason in $dialect matches the cell of the document: $cell",
    ({ reason: name, dialect, cell }) => {
      const reason = name as Reason;
      const statedState = stateIn(cell);
      if (statedState !== undefined) {
        expect(findReasonOfState({ state: taskStateSchema.parse(statedState), dialect })).toBe(
          reason,
        );
      }
      expect(listErrorCodes({ reason, dialect })).toEqual(numbersIn(cell));
      expect(toErrorCode({ reason, dialect, target: "canceled" })).toBe(numbersIn(cell).at(0));
      expect(toErrorCode({ reason, dialect, target: "working" })).toBe(numbersIn(cell).at(-1));
      expect(toErrorCode({ reason, dialect })).toBe(numbersIn(cell).at(-1));
    },
  );

  it.each(dialects)(
    "shares a number of %s between reasons only if the document says so",
    (dialect) => {
      for (const code of new Set(
        reasons.flatMap((reason) => listErrorCodes({ reason, dialect })),
      )) {
        const sharing = errorTable.filter(({ cells }) =>
          numbersIn(cells[dialect] ?? "").includes(code),
        );
        expect(listReasons({ code, dialect })).toEqual(sharing.map((row) => row.reason));
      }
    },
  );

  it.each(dialects)(
    "the dialect %s reads the five standard codes first as JSON-RPC defines them",
    (dialect) => {
      const standard = [-32700, -32600, -32601, -32602, -32603].map(
        (code) => listReasons({ code, dialect })[0],
      );
      expect(standard).toEqual([
        "parse_error",
        "invalid_request",
        "method_not_found",
        "invalid_params",
        "internal",
      ]);
    },
  );

  it("keeps own numbers in their range, apart from standard numbers and the published timeout", () => {
    const own = reasons
      .map((reason) => toErrorCode({ reason, dialect: "zone" }))
      .filter((code) => code > -32600 && code !== -32001);
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((code) => code < ownNumbers.first || code > ownNumbers.last)).toEqual([]);
    expect(new Set(own).size).toBe(own.length);
  });

  it("maps to a reason only those task states that A2A uses instead of an error", () => {
    const reasonsOfStates = taskStateSchema.options.map(
      (state) => [state, findReasonOfState({ state, dialect: "a2a" })] as const,
    );
    expect(
      Object.fromEntries(reasonsOfStates.filter(([, reason]) => reason !== undefined)),
    ).toEqual({
      failed: "execution_failed",
      canceled: "canceled",
      rejected: "plan_error",
    });
    expect(findReasonOfState({ state: "failed", dialect: "zone" })).toBeUndefined();
  });

  it("maps an unused number to no reason", () => {
    expect(dialects.flatMap((dialect) => listReasons({ code: -32042, dialect }))).toEqual([]);
  });
});
