import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { LambdaFunction } from "../template/wiring.ts";
import { type RunningFunction, runFunction } from "./function.ts";

let running: RunningFunction | undefined;
let folder = "";

afterEach(async () => {
  await running?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** `code` is what the bundle would be. */
function deploy({ code, ...more }: Partial<LambdaFunction> & { code: string }) {
  folder = mkdtempSync(join(tmpdir(), "sekisho-function-"));
  writeFileSync(join(folder, "index.js"), code);
  const starts: number[] = [];
  const lines: string[] = [];
  const failures: string[] = [];
  const fn: LambdaFunction = {
    label: "Greeter",
    name: "greeter",
    arn: "arn:aws:lambda:eu-central-1:111111111111:function:greeter",
    roleArn: "",
    account: "111111111111",
    region: "eu-central-1",
    environment: {},
    handler: "index.handler",
    runtime: "nodejs24.x",
    folder,
    timeoutMs: 5000,
    memoryMb: 128,
    logGroup: "",
    isTraced: false,
    aliasArns: [],
    allowsLoops: false,
    reservedConcurrency: undefined,
    keyArn: undefined,
    ...more,
  };
  running = runFunction({
    fn,
    environment: { GREETING: "hello", ...fn.environment },
    onStart: () => void starts.push(1),
    onLine: (line) => void lines.push(line),
    onFailure: (error) => void failures.push(error),
  });
  return { running, starts, lines, failures };
}

const payloadOf = async (outcome: Promise<unknown>) =>
  ((await outcome) as { payload: unknown }).payload;

describe("a function", () => {
  it("passes the event and a context, and reuses the warm process", async () => {
    const { running, starts } = deploy({
      timeoutMs: 60_000,
      code: "let calls = 0; exports.handler = async ({ name }, { getRemainingTimeInMillis, awsRequestId }) => ({ name, calls: ++calls, left: getRemainingTimeInMillis() > 0 && getRemainingTimeInMillis() <= 60_000, id: awsRequestId.length });",
    });
    expect(await payloadOf(running.invoke({ name: "a" }))).toEqual({
      name: "a",
      calls: 1,
      left: true,
      id: 36,
    });
    expect(await payloadOf(running.invoke({ name: "b" }))).toMatchObject({ name: "b", calls: 2 });
    expect(starts).toHaveLength(1);
  });

  it("runs up to four invocations at a time in processes of their own and queues the others", async () => {
    const { running, starts } = deploy({
      code: "exports.handler = async () => { await new Promise((resolve) => setTimeout(resolve, 200)); return process.pid; };",
    });
    const pids = await Promise.all(Array.from({ length: 6 }, () => payloadOf(running.invoke({}))));
    expect(new Set(pids).size).toBe(4);
    expect(starts).toHaveLength(4);
  });

  it("throttles invocations when the account has no concurrency left and reports no failure", async () => {
    const { running, failures } = deploy({
      code: "exports.handler = async () => { await new Promise((resolve) => setTimeout(resolve, 200)); };",
    });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => running.invoke({})));
    const createThrottling = { ok: false, error: "Rate Exceeded.", isThrottled: true };
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([createThrottling, createThrottling]);
    expect(failures).toEqual([]);
    expect(await running.invoke({})).toMatchObject({ ok: true });
  });

  it("passes the configured environment and what Lambda adds, and nothing of the machine", async () => {
    const { running } = deploy({
      code: "exports.handler = async () => Object.keys(process.env).sort();",
    });
    expect(await payloadOf(running.invoke({}))).toEqual([
      "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
      "AWS_LAMBDA_FUNCTION_NAME",
      "AWS_LAMBDA_FUNCTION_VERSION",
      "AWS_LAMBDA_RUNTIME_API",
      "GREETING",
      "LAMBDA_TASK_ROOT",
      "TZ",
      "_HANDLER",
      "_X_AMZN_TRACE_ID",
    ]);
  });

  it("a function does not run between invocations", async () => {
    const { running } = deploy({
      code: "let ticks = 0; setInterval(() => ticks++, 10); exports.handler = async () => { const before = ticks; await new Promise((resolve) => setTimeout(resolve, 50)); return { before, after: ticks }; };",
    });
    const first = (await payloadOf(running.invoke({}))) as { after: number };
    await wait(500);
    const second = (await payloadOf(running.invoke({}))) as { before: number };
    expect(first.after).toBeGreaterThan(0);
    expect(second.before - first.after).toBeLessThan(20);
  });

  it.each([
    {
      title: "throws",
      code: "exports.handler = async () => { throw new TypeError('no'); };",
      error: "TypeError: no",
    },
    {
      title: "has no such handler",
      code: "exports.handle = 1;",
      error: "index.handler is undefined or not exported",
    },
    {
      title: "cannot be loaded",
      code: "throw new Error('REGION is not set');",
      error: "REGION is not set",
    },
    {
      title: "ends its process",
      code: "exports.handler = () => process.exit(3);",
      error: "ended with 3",
    },
  ])("reports the reason when a function $title", async ({ code, error }) => {
    const { running, failures } = deploy({ code });
    expect(await running.invoke({})).toMatchObject({ ok: false });
    expect(failures).toEqual([expect.stringContaining(error)]);
  });

  it("ends an invocation after its time-out and starts a new process for the next one", async () => {
    const { running, starts, failures } = deploy({
      code: "exports.handler = (event) => event.slow ? new Promise(() => setInterval(() => {}, 1000)) : 'quick';",
      timeoutMs: 300,
    });
    await running.invoke({});
    await wait(100);
    expect(await running.invoke({ slow: true })).toMatchObject({ ok: false });
    expect(failures).toEqual(["it took longer than its 0.3 s"]);
    expect(await payloadOf(running.invoke({}))).toBe("quick");
    expect(starts).toHaveLength(2);
  });

  const tellsTrace = "exports.handler = async () => process.env._X_AMZN_TRACE_ID;";

  it("refuses the seventeenth invocation of one chain but not another chain", async () => {
    const { running, failures, starts } = deploy({ code: tellsTrace });
    let traces: string[] = [];
    for (let time = 0; time < 16; time++)
      traces = [String(await payloadOf(running.invoke({}, traces)))];
    expect(traces).toEqual([expect.stringMatching(/^Root=1-.+;Lineage=[0-9a-f]{8}:15$/)]);
    const refusal = "Lambda refused invocation 17 of one chain (RecursiveInvocationsDropped)";
    expect(await running.invoke({}, traces)).toEqual({ ok: false, error: refusal });
    expect(failures).toEqual([refusal]);
    expect(await payloadOf(running.invoke({}))).toMatch(/:0$/);
    expect(starts).toHaveLength(1);
  });

  it("continues a chain when the function allows loops", async () => {
    const { running, failures } = deploy({ code: tellsTrace, allowsLoops: true });
    let traces: string[] = [];
    for (let time = 0; time < 20; time++)
      traces = [String(await payloadOf(running.invoke({}, traces)))];
    expect(traces).toEqual([expect.stringMatching(/:19$/)]);
    expect(failures).toEqual([]);
  });

  it("fails the invocation of a killed process, reports nothing, and starts another process", async () => {
    const { running, failures, starts } = deploy({
      code: "exports.handler = ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(ms), ms));",
    });
    expect(await running.kill()).toBe(false);
    expect(await payloadOf(running.invoke({ ms: 1 }))).toBe(1);
    expect(await running.kill()).toBe(false);
    const long = running.invoke({ ms: 4000 });
    await wait(100);
    expect(await running.kill()).toBe(true);
    expect(await long).toMatchObject({ ok: false });
    expect(await payloadOf(running.invoke({ ms: 2 }))).toBe(2);
    expect(starts).toHaveLength(2);
    expect(failures).toEqual([]);
  });

  it("starts a new process after cooling and lets a running invocation finish", async () => {
    const { running, starts, failures } = deploy({
      code: "exports.handler = ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(process.pid), ms));",
    });
    const idle = await payloadOf(running.invoke({ ms: 1 }));
    const atWork = running.invoke({ ms: 300 });
    await running.cool();
    expect(await payloadOf(atWork)).toBe(idle);
    expect(await payloadOf(running.invoke({ ms: 1 }))).not.toBe(idle);
    await running.cool();
    await running.invoke({ ms: 1 });
    expect(starts).toHaveLength(3);
    expect(failures).toEqual([]);
  });
});
