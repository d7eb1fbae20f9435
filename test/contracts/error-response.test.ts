/** How a host answers an error over HTTP in each dialect: status, headers and body, and that a client reads it back as it was. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Dialect, dialectSchema } from "../../contracts/dialects.ts";
import { responseSchema } from "../../contracts/envelope.ts";
import { createErrorResponse, decodeError, encodeError } from "../../contracts/error-data.ts";
import { type Reason, reasons, SekishoError } from "../../contracts/errors.ts";
import { errorTable } from "./error-table.ts";

const id = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
const anyReason = fc.constantFrom(...reasons);
const anyDialect = fc.constantFrom(...dialectSchema.options);
const ownHost: Partial<Record<string, number>> = { unauthenticated: 401, permission_denied: 403, rate_limited: 429 };

const everyCell = errorTable.flatMap(({ reason, http }) =>
  dialectSchema.options.map((dialect) => ({ reason: reason as Reason, dialect, http })),
);

function answer({ reason, dialect, retryAfterMs }: { reason: Reason; dialect: Dialect; retryAfterMs?: number }) {
  const details = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
  return createErrorResponse({ error: new SekishoError(reason, { details }), id, dialect });
}

describe("the answer of a host to an error", () => {
  it.each(everyCell)(
    "has in $dialect the status that docs/contract.md states for $reason",
    ({ reason, dialect, http }) => {
      const isA2aOutage = dialect.startsWith("a2a") && reason === "unavailable";
      const stated = dialect === "vapora" || isA2aOutage ? http : (ownHost[reason] ?? 200);
      expect(answer({ reason, dialect }).status).toBe(stated);
    },
  );

  it("keeps the id, save in VAPORA's dialect, where errors have none", () => {
    for (const dialect of dialectSchema.options) {
      const { body } = answer({ reason: "task_not_found", dialect });
      expect({ dialect, id: body.id }).toEqual({ dialect, id: dialect === "vapora" ? undefined : id });
      expect("id" in JSON.parse(JSON.stringify(body))).toBe(dialect !== "vapora");
    }
  });

  it("says by 429 and 503 when to come again, in whole seconds and never at once", () => {
    const headersAfter = (reason: Reason, retryAfterMs?: number) =>
      answer({ reason, dialect: "a2a", ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }).headers;
    expect(headersAfter("rate_limited", 1500)).toEqual({ "retry-after": "2" });
    expect(headersAfter("unavailable", 0)).toEqual({ "retry-after": "1" });
    expect(headersAfter("unavailable")).toEqual({ "retry-after": "1" });
    expect(headersAfter("task_not_found", 1500)).toEqual({});
  });

  it("is 413 for a body that was refused before its id was read, and not for a result that was too large", () => {
    const error = new SekishoError("payload_too_large");
    expect(createErrorResponse({ error, id: null, dialect: "zone" }).status).toBe(413);
    expect(createErrorResponse({ error, id, dialect: "zone" }).status).toBe(200);
  });

  it("never says ambiguous, and of an unknown failure nothing but that it is internal", () => {
    for (const dialect of dialectSchema.options) {
      const error = new SekishoError("ambiguous", { cause: new Error("ECONNRESET") });
      const { status, body } = createErrorResponse({ error, id, dialect });
      expect({ dialect, status }).toEqual({ dialect, status: dialect === "vapora" ? 500 : 200 });
      expect(body.error).toEqual(encodeError({ error: new SekishoError("internal"), dialect }));
    }
  });

  it("is read back as it was, through every dialect and whatever the id", () => {
    const anyId = fc.oneof(fc.string({ minLength: 1, maxLength: 128 }), fc.integer(), fc.constant(null));
    fc.assert(
      fc.property(anyReason, anyDialect, anyId, (reason, dialect, anId) => {
        const { status, body } = createErrorResponse({ error: new SekishoError(reason), id: anId, dialect });
        const response = responseSchema.parse(JSON.parse(JSON.stringify(body)));
        if (!("error" in response)) throw new Error("no error in the response");
        expect(response.id).toBe(dialect === "vapora" ? null : anId);
        expect(decodeError({ error: response.error, dialect, status })).toMatchObject({ reason, exact: true });
      }),
    );
  });
});
