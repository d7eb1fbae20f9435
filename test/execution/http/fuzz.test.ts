/** More than a million bytes of hostile bodies: the host always answers by the contract, and gives nothing away. */
import { afterAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { responseSchema } from "../../../contracts/envelope.ts";
import { errorDataSchema } from "../../../contracts/error-data.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { createTestHost, post } from "../test-host.ts";

const secret = "hunter2-do-not-tell";
const { host, lines } = createTestHost({ agent: createEchoAgent({ sleep: async () => {} }), syncBudgetMs: 0 });
let sentBytes = 0;

/** Text that must not come back in an error, nor be logged, wherever in a request it stood. */
const marked = fc.string({ unit: "binary", maxLength: 20 }).map((text) => `${secret}${text}`);
const value = fc.oneof(
  marked,
  fc.jsonValue(),
  fc.constantFrom("2.0", "execute_task", "get_task", "C1", -1, Number.MAX_VALUE, null),
);
const names = [
  "jsonrpc",
  "id",
  "method",
  "params",
  "channel",
  "text",
  "task_id",
  "request_id",
  "wait_ms",
  "__proto__",
  "history",
];
const almostParams = fc.dictionary(fc.constantFrom(...names), value);
const almostRequest = fc.record(
  {
    jsonrpc: fc.oneof(fc.constant("2.0"), value),
    id: fc.oneof(fc.uuid(), fc.integer(), value),
    method: fc.constantFrom("execute_task", "get_task", "cancel_task", "answer_task", "rpc.discover", "rpc.x", secret),
    params: fc.oneof(almostParams, value),
  },
  { requiredKeys: [] },
);

async function expectContract(body: Uint8Array<ArrayBuffer>): Promise<void> {
  sentBytes += body.byteLength;
  const response = await host.handle(post(body));
  expect(response.status).toBe(body.byteLength > 256 * 1024 ? 413 : 200);
  const answer = responseSchema.parse(await response.json());
  if (!("error" in answer)) return;
  expect(errorDataSchema.safeParse(answer.error.data).success).toBe(true);
  expect(Object.keys(answer.error).sort()).toEqual(["code", "data", "message"]);
  expect(JSON.stringify(answer.error)).not.toContain(secret);
}

describe("hostile bodies", () => {
  afterAll(async () => {
    await host.stop({ graceMs: 1000 });
  });

  it("of any bytes", async () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 8000, size: "max" });
    await fc.assert(
      fc.asyncProperty(bytes, (body) => expectContract(new Uint8Array(body))),
      { numRuns: 200 },
    );
  });

  it("of any JSON", async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 5, noUnicodeString: false }), (body) => expectContract(utf8(body))),
      { numRuns: 400 },
    );
  });

  it("that are almost requests", async () => {
    await fc.assert(
      fc.asyncProperty(almostRequest, (body) => expectContract(utf8(JSON.stringify(body)))),
      { numRuns: 1500 },
    );
  });

  it("that are requests with a few bytes changed, cut or doubled", async () => {
    const request = JSON.stringify({
      jsonrpc: "2.0",
      id: "1",
      method: "execute_task",
      params: { channel: "C1", text: secret },
    });
    const whole = Buffer.from(request);
    const cut = fc.tuple(fc.nat(whole.length), fc.nat(whole.length), fc.uint8Array({ maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(cut, ([from, to, insert]) =>
        expectContract(new Uint8Array(Buffer.concat([whole.subarray(0, from), insert, whole.subarray(to)]))),
      ),
      { numRuns: 1500 },
    );
  });

  it.each([
    ["deep arrays", "[".repeat(250_000)],
    ["deep objects", '{"a":'.repeat(50_000)],
    ["deep but whole", "[".repeat(100_000) + "]".repeat(100_000)],
    ["deep params", `{"jsonrpc":"2.0","id":"1","method":"get_task","params":${"[".repeat(1e5)}${"]".repeat(1e5)}}`],
    ["many keys", `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(",")}}`],
    ["a long number", `{"jsonrpc":"2.0","id":${"9".repeat(250_000)},"method":"get_task"}`],
    ["a long text", `{"jsonrpc":"2.0","id":"1","method":"${"x".repeat(250_000)}"}`],
    ["lone surrogates", '{"jsonrpc":"2.0","id":"\\ud800","method":"get_task","params":{"task_id":"\\udfff"}}'],
    ["a text above the limit", " ".repeat(300_000)],
  ])("with %s", async (_name, body) => {
    await expectContract(utf8(body));
  });

  it("were a million bytes at least, none of it was logged, and the host still works", async () => {
    expect(sentBytes).toBeGreaterThan(1_000_000);
    expect(lines.join("")).not.toContain(secret);
    const { status } = await host.handle(new Request("http://127.0.0.1/healthz"));
    expect(status).toBe(200);
  });
});

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text));
}
