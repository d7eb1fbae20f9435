import { describe, expect, it } from "@jest/globals";
import type { LambdaFunction } from "../template/wiring.ts";
import { createConcurrency, newAccountLimit } from "./concurrency.ts";

const region = "eu-central-1";
const fn = (name: string, account = "111111111111") =>
  ({
    label: name,
    arn: `arn:aws:lambda:${region}:${account}:function:${name}`,
    account,
    region,
  }) as LambdaFunction;

const fill = (
  concurrency: ReturnType<typeof createConcurrency>,
  of: LambdaFunction,
  count: number,
) => Array.from({ length: count }, () => concurrency.enter(of));

describe("the concurrency of an account", () => {
  it("shares an account's concurrency among its functions and frees it when an invocation is over", () => {
    const concurrency = createConcurrency();
    const [leave] = fill(concurrency, fn("a"), newAccountLimit - 1);
    expect(concurrency.enter(fn("b"))).toBeDefined();
    expect([concurrency.enter(fn("a")), concurrency.enter(fn("b"))]).toEqual([
      undefined,
      undefined,
    ]);
    leave?.();
    leave?.();
    expect(concurrency.enter(fn("b"))).toBeDefined();
    expect(concurrency.enter(fn("b"))).toBeUndefined();
    expect(concurrency.peak("111111111111")).toBe(10);
  });

  it("does not share concurrency with another account", () => {
    const concurrency = createConcurrency();
    fill(concurrency, fn("a"), newAccountLimit);
    expect(concurrency.enter(fn("a", "222222222222"))).toBeDefined();
  });

  it("reserves concurrency for one function and limits that function to it", () => {
    const own = fn("own");
    const concurrency = createConcurrency({ limit: 10, reserved: { [own.arn]: 3 } });
    expect(fill(concurrency, fn("a"), 8).filter(Boolean)).toHaveLength(7);
    expect(fill(concurrency, own, 4).filter(Boolean)).toHaveLength(3);
  });
});
