/** The dispatch checks params by compiled schemas: they must make of every value what the contract's own schemas do. */
import { describe, expect, it } from "@jest/globals";
import { requestSchema } from "@sekisho/contracts/envelope.ts";
import type { SekishoError } from "@sekisho/contracts/errors.ts";
import { methods as contract, type MethodName } from "@sekisho/contracts/methods.ts";
import type { MethodHandlers } from "@sekisho/execution/methods/methods.ts";
import { createDispatch } from "@sekisho/execution/methods/methods.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { noMetrics } from "@sekisho/runtime/telemetry/telemetry.ts";
import fc from "fast-check";

/** Every method answers with the params that reached it. */
const repeat = async ({ params }: { params: unknown }) => params;
const methods = Object.fromEntries(
  Object.keys(contract).map((name) => [name, repeat]),
) as unknown as MethodHandlers;
const dispatch = createDispatch({ methods, metrics: noMetrics, log: silentLog });
const caller = { principal: "p", trace: undefined, receivedAtMs: 0 };

/** Names and values that mean something to some method, and some that mean nothing to any. */
const value = fc.oneof(
  fc.constantFrom(
    "",
    "C1",
    "1762750300.000100",
    "https://files.example/a",
    "http://a.example",
    "user",
    "関所",
  ),
  fc.constantFrom(
    "x".repeat(64),
    "x".repeat(65),
    "s".repeat(40),
    "2026-01-01T00:00:00Z",
    null,
    true,
  ),
  fc.constantFrom(1, 0, -1, 25_000, 25_001, 1.5),
  fc.array(fc.record({ role: fc.constantFrom("user", "other"), text: fc.string() }), {
    maxLength: 3,
  }),
  fc.jsonValue({ maxDepth: 2 }),
);
const member = fc.constantFrom(
  ...[
    "channel",
    "text",
    "thread_ts",
    "team_id",
    "user_id",
    "correlation_id",
    "attachments",
    "history",
    "session_id",
  ],
  ...[
    "timeout_ms",
    "callback",
    "bot_token",
    "task_id",
    "request_id",
    "wait_ms",
    "reason",
    "option_id",
    "other",
  ],
  ...["__proto__", "constructor", "toString"],
);
const needed = fc.constantFrom(
  {},
  { channel: "C1", text: "hello" },
  { task_id: "t" },
  { request_id: "r" },
);
const params = fc
  .tuple(needed, fc.array(fc.tuple(member, value), { maxLength: 4 }))
  .map(([basis, extra]) => Object.fromEntries([...Object.entries(basis), ...extra]) as unknown);

describe("params", () => {
  it.each(Object.keys(contract) as MethodName[])(
    "accepts and refuses params of %s exactly as the contract does",
    async (method) => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof({ weight: 9, arbitrary: params }, fc.jsonValue()),
          async (params) => {
            const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
            const answer: { result?: unknown; error?: SekishoError } = await dispatch({
              request: requestSchema.parse(JSON.parse(text)),
              caller,
            });
            const parseResult = contract[method].params.safeParse(JSON.parse(text).params);
            if (parseResult.success) expect(answer.result).toStrictEqual(parseResult.data);
            else
              expect(answer.error).toMatchObject({
                reason: "invalid_params",
                details: { issues: expect.any(Array) },
              });
          },
        ),
        { numRuns: 300 },
      );
    },
  );
});
