import { describe, expect, it } from "@jest/globals";
import { continueChain } from "./lineage.ts";

const worker = "arn:aws:lambda:eu-central-1:111111111111:function:worker";
const other = "arn:aws:lambda:eu-central-1:111111111111:function:other";

/** The header after so many invocations of the function in one chain. */
function afterInvocations(times: number, functionArn = worker, traces: string[] = []): string {
  let latest = traces;
  for (let time = 0; time < times; time++)
    latest = [continueChain({ traces: latest, functionArn }).trace];
  return latest[0] ?? "";
}

const rootOf = (trace: string) => /Root=([^;]+)/.exec(trace)?.[1];

describe("a chain of invocations", () => {
  it("begins a chain with a root of its own when no trace brings one", () => {
    const first = continueChain({ traces: [], functionArn: worker });
    const second = continueChain({
      traces: ["Root=1-66000000-0123456789abcdef01234567;Sampled=0"],
      functionArn: worker,
    });
    expect([first.invocation, second.invocation]).toEqual([1, 1]);
    expect(first.trace).toMatch(
      /^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0;Lineage=[0-9a-f]{8}:0$/,
    );
    expect(rootOf(second.trace)).toBe("1-66000000-0123456789abcdef01234567");
    expect(rootOf(continueChain({ traces: [], functionArn: worker }).trace)).not.toBe(
      rootOf(first.trace),
    );
  });

  it("counts the invocations of each function separately", () => {
    const trace = afterInvocations(3, other, [afterInvocations(16)]);
    expect(continueChain({ traces: [trace], functionArn: worker }).invocation).toBe(17);
    expect(continueChain({ traces: [trace], functionArn: other }).invocation).toBe(4);
    expect(rootOf(trace)).toBeDefined();
  });

  it("does not lengthen a chain when the same message is retried", () => {
    const trace = afterInvocations(5);
    const invocations = [1, 2, 3].map(
      () => continueChain({ traces: [trace], functionArn: worker }).invocation,
    );
    expect(invocations).toEqual([6, 6, 6]);
  });

  it("continues the longest chain of a batch", () => {
    const traces = [afterInvocations(2), afterInvocations(7), afterInvocations(9, other)];
    const { trace, invocation } = continueChain({ traces, functionArn: worker });
    expect(invocation).toBe(8);
    expect(continueChain({ traces: [trace], functionArn: other }).invocation).toBe(10);
  });
});
