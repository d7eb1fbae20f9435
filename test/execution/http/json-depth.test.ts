/** JSON that is nested too deeply is its sender's mistake, wherever it comes from, and nothing that breaks is made of it. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { isTooDeep } from "../../../lambdas/shared/untrusted-input.ts";
import { createTestHost, hello, post, yielding } from "../test-host.ts";

const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Strings of what an ill-made count would stumble over. */
const trap = fc.string({ unit: fc.constantFrom("[", "{", '"', "\\", "]", "関") });
const json = fc.jsonValue({ stringUnit: fc.constantFrom("[", "{", '"', "\\", "]", "関") });

describe("JSON", () => {
  it("is too deep from 101 levels on, whatever stands in its texts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 95, max: 105 }), trap, json, (levels, text, value) => {
        const whole = `${`{${JSON.stringify(text)}:`.repeat(levels)}${JSON.stringify(value)}${"}".repeat(levels)}`;
        expect(isTooDeep(Buffer.from(whole))).toBe(levels + depthOf(value) > 100);
      }),
    );
  });
});

describe("a request that is nested too deeply", () => {
  it.each([101, 5000, 60_000])("is refused as one, and nobody is alarmed: %i levels", async (levels) => {
    const { host, lines } = createTestHost();
    const body = `{"jsonrpc":"2.0","id":"1","method":"execute_task","params":{"channel":"C1","text":"t","x":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
    const answer = await host.handle(post(body));
    expect(await answer.json()).toMatchObject({ id: null, error: { code: -32600 } });
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(["info"]);
  });

  it("is one only from there on", async () => {
    const { call } = createTestHost();
    expect((await call("execute_task", { ...hello, x: nested(98) })).result?.status).toBe("success");
  });
});

describe("what an agent made that is nested too deeply", () => {
  it.each<[string, Parameters<typeof yielding>]>([
    ["in an artifact", [{ type: "artifact", artifact: { data: nested(101) } }]],
    ["in its notes on usage", [{ type: "answer", text: "done", usage: { deep: nested(101) } }]],
    ["for any stack", [{ type: "artifact", artifact: { data: nested(50_000) } }]],
  ])("fails its task: %s", async (_what, updates) => {
    const { call } = createTestHost({ agent: yielding(...updates, { type: "answer", text: "done" }) });
    expect((await call("execute_task", hello)).error?.data.reason).toBe("execution_failed");
  });
});
