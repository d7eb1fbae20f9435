/** The pauses between the attempts of a call, and its time limits, by a clock that the test moves. */
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { AwsCallError, createRetries } from "@sekisho/runtime/aws/retry.ts";
import { serve } from "../../doubles/serving.ts";

const createThrottling = (retryAfterMs?: number) =>
  new AwsCallError({
    name: "ThrottlingException",
    status: 400,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
const createFailure = (retryAfterMs?: number) =>
  new AwsCallError({
    name: "Unheard",
    status: 503,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "performance", "Date"],
  });
});
afterEach(() => {
  jest.useRealTimers();
});

/** The pauses before each further attempt of a call that fails with these errors. */
async function pausesAfter(
  errors: readonly Error[],
  options: Parameters<typeof createRetries>[0] = {},
) {
  const retries = createRetries({
    maxAttempts: errors.length + 1,
    random: () => 0.999_999,
    ...options,
  });
  const errorsToThrow = [...errors];
  const result = retries.run({
    attempt: async () => {
      const error = errorsToThrow.shift();
      if (error !== undefined) throw error;
    },
    leftMs: () => 3600_000,
  });
  const pauses: number[] = [];
  for (const _error of errors) {
    await eventuallyTimers(1);
    const startMs = jest.now();
    jest.advanceTimersToNextTimer();
    pauses.push(jest.now() - startMs);
  }
  await result;
  return pauses;
}

/** Waits until so many timers are set, without a turn of the event loop in which a socket could do anything. */
async function eventuallyTimers(count: number): Promise<void> {
  for (let tries = 0; jest.getTimerCount() < count && tries < 1000; tries += 1) {
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
}

describe("the pause before a further attempt", () => {
  it("doubles the retry delay up to 20 seconds", async () => {
    const errors = Array.from({ length: 11 }, () => createFailure());
    expect(await pausesAfter(errors)).toEqual([
      49, 99, 199, 399, 799, 1599, 3199, 6399, 12_799, 19_999, 19_999,
    ]);
  });

  it("starts with shorter delays for DynamoDB and longer ones after throttling, and adds jitter", async () => {
    expect(await pausesAfter([createFailure(), createFailure()], { baseMs: 25 })).toEqual([24, 49]);
    expect(await pausesAfter([createThrottling(), createThrottling()], { baseMs: 25 })).toEqual([
      999, 1999,
    ]);
    expect(
      await pausesAfter([createThrottling(), createThrottling()], { random: () => 0.25 }),
    ).toEqual([250, 500]);
  });

  it("waits as long as AWS asks for, within bounds", async () => {
    expect(
      await pausesAfter([createFailure(2000), createFailure(60_000), createThrottling(300)]),
    ).toEqual([2000, 5099, 3999]);
  });
});

describe("the limits of a call", () => {
  async function open(options: { timeoutMs?: number; maxAttempts?: number } = {}) {
    const { url, received: requests } = await serve(() => new Promise(() => {}));
    const client = createJsonClient({
      service: "sqs",
      region: "eu-central-1",
      credentials: async () => ({ accessKeyId: "a", secretAccessKey: "b" }),
      endpointOf: () => new URL(url),
      timeoutMs: 10_000,
      attemptTimeoutMs: 3000,
      connectTimeoutMs: 1000,
      random: () => 0,
      ...options,
    });
    return { client, received: requests };
  }

  /** Lets the event loop turn until so many requests are there. */
  async function waitForArrivals(requests: readonly unknown[], count: number): Promise<void> {
    while (requests.length < count) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  it("ends an attempt that has no connection after a second", async () => {
    const { client, received: requests } = await open({ maxAttempts: 1 });
    const call = client.call("SendMessage", {}).catch((error: unknown) => error);
    await eventuallyTimers(2);
    jest.advanceTimersByTime(1000);
    expect(await call).toMatchObject({
      name: "TimeoutError",
      message: expect.stringContaining("connection"),
    });
    expect(requests).toHaveLength(0);
  });

  it("ends an attempt without an answer after three seconds and tries again", async () => {
    const { client, received: requests } = await open();
    const call = client.call("SendMessage", {}).catch((error: unknown) => error);
    for (const attempt of [1, 2, 3]) {
      await waitForArrivals(requests, attempt);
      jest.advanceTimersByTime(3000);
      // The pause of no time.
      await eventuallyTimers(1);
      jest.advanceTimersByTime(0);
    }
    expect(await call).toMatchObject({
      name: "TimeoutError",
      message: expect.stringContaining("answer"),
    });
    expect(requests).toHaveLength(3);
  });

  it("adds the wait of a long poll to the time limit", async () => {
    const { client, received: requests } = await open({ maxAttempts: 1 });
    let isOver = false;
    const call = client.call("ReceiveMessage", {}, { waitMs: 20_000 }).catch(() => {
      isOver = true;
    });
    await waitForArrivals(requests, 1);
    jest.advanceTimersByTime(22_999);
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    jest.advanceTimersByTime(1);
    await call;
    expect(isOver).toBe(true);
  });
});
