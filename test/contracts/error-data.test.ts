/** Errors encoded and decoded again: what survives with data, what a bare number may mean, and what is never sent. */

import { describe, expect, it } from "@jest/globals";
import { canRepeat, isGuessed } from "@sekisho/contracts/certainty.ts";
import {
  type Dialect,
  dialectSchema,
  listErrorCodes,
  listReasons,
  toHttpStatus,
} from "@sekisho/contracts/dialects.ts";
import {
  errorObjectSchema,
  type JsonRpcErrorObject,
  responseSchema,
} from "@sekisho/contracts/envelope.ts";
import {
  createErrorResponse,
  decodeError,
  encodeError,
  errorDataSchema,
} from "@sekisho/contracts/error-data.ts";
import {
  type ErrorDetails,
  type Reason,
  reasons,
  SekishoError,
} from "@sekisho/contracts/errors.ts";
import fc from "fast-check";
import { errorTable } from "./error-table.ts";

const dialects = dialectSchema.options;
const everyCell = reasons.flatMap((reason) => dialects.map((dialect) => ({ reason, dialect })));
const anyReason = fc.constantFrom(...reasons);
const anyDialect = fc.constantFrom(...dialects);

const fillText = (maxLength?: number) =>
  fc.string({ minLength: 1, ...(maxLength !== undefined && { maxLength }) });

const anyDetails: fc.Arbitrary<ErrorDetails> = fc.record(
  {
    retry_after_ms: fc.maxSafeNat(),
    task_id: fillText(256),
    correlation_id: fillText(128),
    issues: fc.array(fc.record({ path: fc.string(), message: fc.string() })),
    current: fillText(),
    target: fc.oneof(fc.constantFrom("canceled", "working"), fillText()),
    lost: fc.boolean(),
  },
  { requiredKeys: [] },
);

function overTheWire(error: JsonRpcErrorObject): JsonRpcErrorObject {
  return errorObjectSchema.parse(JSON.parse(JSON.stringify(error)));
}

describe("an error with its data", () => {
  it.each(everyCell)(
    "round-trips an error with the reason $reason through $dialect",
    ({ reason, dialect }) => {
      fc.assert(
        fc.property(anyDetails, (details) => {
          const wire = overTheWire(
            encodeError({ error: new SekishoError(reason, { details }), dialect }),
          );
          const decodedError = decodeError({ error: wire, dialect });
          expect(decodedError).toMatchObject({ reason, certainty: "refused", code: wire.code });
          expect(decodedError.details).toEqual(details);
          expect(listErrorCodes({ reason, dialect })).toContain(wire.code);
        }),
        { numRuns: 8 },
      );
    },
  );

  it("keeps reason and details through any chain of dialects", () => {
    fc.assert(
      fc.property(
        anyReason,
        anyDetails,
        fc.array(anyDialect, { minLength: 2, maxLength: 5 }),
        (reason, details, hops) => {
          const last = hops.reduce(
            (error, dialect) =>
              decodeError({ error: overTheWire(encodeError({ error, dialect })), dialect }),
            new SekishoError(reason, { details }),
          );
          expect({ reason: last.reason, details: last.details, certainty: last.certainty }).toEqual(
            {
              reason,
              details,
              certainty: "refused",
            },
          );
        },
      ),
    );
  });

  it("prefers the reason in the data to the number in the reader's dialect", () => {
    fc.assert(
      fc.property(
        anyReason,
        anyDialect,
        anyDialect,
        fc.integer(),
        (reason, sentDialect, errorFields, status) => {
          const wire = overTheWire(
            encodeError({ error: new SekishoError(reason), dialect: sentDialect }),
          );
          expect(decodeError({ error: wire, dialect: errorFields, status })).toMatchObject({
            reason,
            certainty: "refused",
          });
        },
      ),
    );
  });

  it("keeps a guess a guess when it is passed on, so that no hop re-sends", () => {
    for (const dialect of dialects) {
      const guess = new SekishoError("rate_limited", { certainty: "guessed" });
      const decodedError = decodeError({
        error: overTheWire(encodeError({ error: guess, dialect })),
        dialect,
      });
      expect(decodedError).toMatchObject({ reason: "rate_limited", certainty: "guessed" });
      expect(canRepeat(decodedError)).toBe(false);
    }
  });
});

/** A number that older reasons have, too, never means a newer one. */
function possibleReasons(number: { code: number; dialect: Dialect }) {
  const candidates = listReasons(number);
  const olderReasons = candidates.filter((reason) => reason !== "asker_unverified");
  return olderReasons.length === 0 ? candidates : olderReasons;
}

describe("an error without data", () => {
  it.each(everyCell)(
    "reads the number of $reason in $dialect as one of its possible reasons",
    ({ reason, dialect }) => {
      for (const code of listErrorCodes({ reason, dialect })) {
        const candidates = possibleReasons({ code, dialect });
        const decodedError = decodeError({ error: { code, message: "" }, dialect });
        expect(listReasons({ code, dialect })).toContain(reason);
        expect(decodedError.reason).toBe(candidates[0]);
        expect(isGuessed(decodedError)).toBe(candidates.length > 1);
        expect(decodedError.code).toBe(code);
      }
    },
  );

  it.each(everyCell)(
    "narrows the possible reasons of the number of $reason in $dialect by the HTTP status",
    ({ reason, dialect }) => {
      const status = toHttpStatus(reason);
      for (const code of listErrorCodes({ reason, dialect })) {
        const equals = possibleReasons({ code, dialect }).filter(
          (candidate) => toHttpStatus(candidate) === status,
        );
        const decodedError = decodeError({ error: { code, message: "" }, dialect, status });
        expect(equals).toContain(decodedError.reason);
        expect(isGuessed(decodedError)).toBe(equals.length > 1);
      }
    },
  );

  it("keeps the meaning of a number if the HTTP status fits no candidate", () => {
    expect(
      decodeError({ error: { code: -32070, message: "" }, dialect: "zone", status: 500 }),
    ).toMatchObject({
      reason: "rate_limited",
      certainty: "refused",
    });
    expect(
      decodeError({ error: { code: -32000, message: "" }, dialect: "vapora", status: 200 }),
    ).toMatchObject({
      reason: "task_not_found",
      certainty: "guessed",
    });
  });

  it("reads an unknown number by the HTTP status, or else as internal, and keeps the number", () => {
    const unknown = { code: -32042, message: "" };
    const readValue = (status?: number) => decodeError({ error: unknown, dialect: "zone", status });
    expect(readValue(429)).toMatchObject({
      reason: "rate_limited",
      certainty: "refused",
      code: -32042,
    });
    expect(readValue(404)).toMatchObject({ certainty: "guessed" });
    expect(readValue(200)).toMatchObject({
      reason: "internal",
      certainty: "guessed",
      code: -32042,
    });
    expect(readValue()).toMatchObject({ reason: "internal", certainty: "guessed", code: -32042 });
  });

  it("never repeats a call after a guessed error", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -32800, max: -31900 }),
        anyDialect,
        fc.integer({ min: 200, max: 599 }),
        (code, dialect, status) => {
          const decodedError = decodeError({ error: { code, message: "" }, dialect, status });
          if (isGuessed(decodedError)) expect(canRepeat(decodedError)).toBe(false);
        },
      ),
    );
  });
});

describe("encoding", () => {
  it("encodes only the fixed text of the reason, and nothing of the cause", () => {
    fc.assert(
      fc.property(anyReason, anyDialect, fc.string({ minLength: 1 }), (reason, dialect, text) => {
        const cause = new Error(`cause-of-it ${text}`);
        const wire = encodeError({ error: new SekishoError(reason, { cause }), dialect });
        expect(wire.message).toBe(new SekishoError(reason).message);
        expect(JSON.stringify(wire)).not.toContain("cause-of-it");
      }),
    );
  });

  it.each(dialects)("encodes ambiguous as internal in %s, and keeps the ids", (dialect) => {
    const error = new SekishoError("ambiguous", {
      details: { task_id: "t-1" },
      cause: new Error("ECONNRESET"),
    });
    const wire = overTheWire(encodeError({ error, dialect }));
    expect(wire).toMatchObject({ code: -32603, message: new SekishoError("internal").message });
    expect(JSON.stringify(wire)).not.toMatch(/ambiguous|ECONNRESET/i);
    expect(decodeError({ error: wire, dialect })).toMatchObject({
      reason: "internal",
      details: { task_id: "t-1" },
    });
  });

  it.each(dialects.filter((dialect) => dialect !== "a2a"))(
    "encodes data for %s as an object that the schema accepts",
    (dialect) => {
      const error = new SekishoError("rate_limited", { details: { retry_after_ms: 1500 } });
      const { data } = encodeError({ error, dialect });
      expect(errorDataSchema.parse(data)).toEqual({
        reason: "rate_limited",
        retryable: true,
        retry_after_ms: 1500,
      });
    },
  );

  it("encodes for A2A 1.x its own reason, ours, the delay and the issues in Google's shapes", () => {
    const details = {
      retry_after_ms: 1500,
      issues: [{ path: "text", message: "too long" }],
      task_id: "t-1",
    };
    const { code, data } = encodeError({
      error: new SekishoError("task_not_found", { details }),
      dialect: "a2a",
    });
    expect(code).toBe(-32001);
    expect(data).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: { taskId: "t-1" },
      },
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "TASK_NOT_FOUND",
        domain: "sekisho",
        metadata: { retryable: "false", task_id: "t-1" },
      },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" },
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field: "text", description: "too long" }],
      },
    ]);
  });

  it("encodes a name of A2A for each of its nine numbers, and for no other", () => {
    const reasonsWithTarget = reasons.flatMap((reason) =>
      ["canceled", "working"].map((target) => {
        const error = new SekishoError(reason, { details: { target } });
        const { code, data } = encodeError({ error, dialect: "a2a" });
        const [first] = data as [{ domain: string; reason: string }];
        return { code, name: first.domain === "a2a-protocol.org" ? first.reason : undefined };
      }),
    );
    const byCode = new Map(reasonsWithTarget.map(({ code, name }) => [code, name] as const));
    const nine = [...byCode]
      .filter(([code]) => code >= -32009 && code <= -32001)
      .sort(([a], [b]) => b - a);
    expect(nine).toEqual([
      [-32001, "TASK_NOT_FOUND"],
      [-32002, "TASK_NOT_CANCELABLE"],
      [-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
      [-32004, "UNSUPPORTED_OPERATION"],
      [-32005, "CONTENT_TYPE_NOT_SUPPORTED"],
      [-32006, "INVALID_AGENT_RESPONSE"],
      [-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
      [-32008, "EXTENSION_SUPPORT_REQUIRED"],
      [-32009, "VERSION_NOT_SUPPORTED"],
    ]);
    expect(
      [...byCode].filter(([code, name]) => name !== undefined && (code < -32009 || code > -32001)),
    ).toEqual([]);
  });
});

describe("decoding hostile data", () => {
  const almostA2a = fc.array(
    fc.record(
      {
        "@type": fc.constantFrom(
          "type.googleapis.com/google.rpc.ErrorInfo",
          "type.googleapis.com/google.rpc.RetryInfo",
          "type.googleapis.com/google.rpc.BadRequest",
        ),
        domain: fc.oneof(fc.constantFrom("sekisho", "a2a-protocol.org"), fc.anything()),
        reason: fc.oneof(
          fc.constantFrom<string>("TIMEOUT", "TASK_NOT_FOUND", "AMBIGUOUS", "__PROTO__"),
          fc.anything(),
        ),
        metadata: fc.anything(),
        retryDelay: fc.oneof(
          fc.constantFrom("9999999999999.999999999s", "1s", "-1s", "1.5"),
          fc.anything(),
        ),
        fieldViolations: fc.anything(),
      },
      { requiredKeys: ["@type"] },
    ),
  );
  const almostObject = fc.record(
    Object.fromEntries(
      [...Object.keys(errorDataSchema.shape), "missing", "__proto__"].map(
        (name) => [name, fc.anything()] as const,
      ),
    ),
    { requiredKeys: [] },
  );
  const hostile = fc.oneof(
    fc.anything({ withNullPrototype: true, withBigInt: true }),
    almostA2a,
    almostObject,
  );

  it("decodes hostile data without throwing, to known reasons and well-formed details", () => {
    fc.assert(
      fc.property(
        hostile,
        fc.integer(),
        anyDialect,
        fc.option(fc.integer(), { nil: undefined }),
        (data, code, dialect, status) => {
          const decodedError = decodeError({ error: { code, message: "", data }, dialect, status });
          expect(reasons).toContain(decodedError.reason as Reason);
          expect(
            errorDataSchema.omit({ reason: true, retryable: true }).parse(decodedError.details),
          ).toEqual(decodedError.details);
          expect(decodedError.code).toBe(code);
        },
      ),
      { numRuns: 500 },
    );
  });
});

const id = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
const ownHost: Partial<Record<string, number>> = {
  unauthenticated: 401,
  permission_denied: 403,
  asker_unverified: 403,
  rate_limited: 429,
};

const statedCells = errorTable.flatMap(({ reason, http }) =>
  dialectSchema.options.map((dialect) => ({ reason: reason as Reason, dialect, http })),
);

function answer({
  reason,
  dialect,
  retryAfterMs,
}: {
  reason: Reason;
  dialect: Dialect;
  retryAfterMs?: number;
}) {
  const details = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
  return createErrorResponse({ error: new SekishoError(reason, { details }), id, dialect });
}

describe("the answer of a host to an error", () => {
  it.each(statedCells)(
    "answers in $dialect with the HTTP status that the contract states for $reason",
    ({ reason, dialect, http }) => {
      const isA2aOutage = dialect.startsWith("a2a") && reason === "unavailable";
      const httpStatus = dialect === "vapora" || isA2aOutage ? http : (ownHost[reason] ?? 200);
      expect(answer({ reason, dialect }).status).toBe(httpStatus);
    },
  );

  it("keeps the id, except in VAPORA's dialect, whose errors lack it", () => {
    for (const dialect of dialectSchema.options) {
      const { body } = answer({ reason: "task_not_found", dialect });
      expect({ dialect, id: body.id }).toEqual({
        dialect,
        id: dialect === "vapora" ? undefined : id,
      });
      expect("id" in JSON.parse(JSON.stringify(body))).toBe(dialect !== "vapora");
    }
  });

  it("sets Retry-After for 429 and 503, in whole seconds of at least one", () => {
    const headersAfter = (reason: Reason, retryAfterMs?: number) =>
      answer({ reason, dialect: "a2a", ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })
        .headers;
    expect(headersAfter("rate_limited", 1500)).toEqual({ "retry-after": "2" });
    expect(headersAfter("unavailable", 0)).toEqual({ "retry-after": "1" });
    expect(headersAfter("unavailable")).toEqual({ "retry-after": "1" });
    expect(headersAfter("task_not_found", 1500)).toEqual({});
  });

  it("answers 413 only for a body that was refused before its id was read", () => {
    const error = new SekishoError("payload_too_large");
    expect(createErrorResponse({ error, id: null, dialect: "zone" }).status).toBe(413);
    expect(createErrorResponse({ error, id, dialect: "zone" }).status).toBe(200);
  });

  it("answers an ambiguous error as internal", () => {
    for (const dialect of dialectSchema.options) {
      const error = new SekishoError("ambiguous", { cause: new Error("ECONNRESET") });
      const { status, body } = createErrorResponse({ error, id, dialect });
      expect({ dialect, status }).toEqual({ dialect, status: dialect === "vapora" ? 500 : 200 });
      expect(body.error).toEqual(encodeError({ error: new SekishoError("internal"), dialect }));
    }
  });

  it("decodes its own error responses in every dialect and with any id", () => {
    const anyId = fc.oneof(
      fc.string({ minLength: 1, maxLength: 128 }),
      fc.integer(),
      fc.constant(null),
    );
    fc.assert(
      fc.property(anyReason, anyDialect, anyId, (reason, dialect, anId) => {
        const { status, body } = createErrorResponse({
          error: new SekishoError(reason),
          id: anId,
          dialect,
        });
        const response = responseSchema.parse(JSON.parse(JSON.stringify(body)));
        if (!("error" in response)) throw new Error("no error in the response");
        expect(response.id).toBe(dialect === "vapora" ? null : anId);
        expect(decodeError({ error: response.error, dialect, status })).toMatchObject({
          reason,
          certainty: "refused",
        });
      }),
    );
  });
});
