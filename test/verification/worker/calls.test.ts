import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createDestinationSlots, createShare } from "@sekisho/verification/slots.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import { createCallRunner, pollTask, sendTaskCall } from "@sekisho/verification/worker/calls.ts";
import { createWorld } from "../../world/world.ts";
import { sampleAsk, sampleCall, sampleTask } from "../task/sample.ts";

const task = sampleTask({
  call: sampleCall({
    taskId: "t-1",
    params: { channel: "C1", text: "hello", correlation_id: sampleTask().id },
  }),
});

const signal = new AbortController().signal;

/** It was polled before, so that a poll may wait for news. */
function polledTask(changes: Partial<Task> = {}): Task {
  return { ...task, state: "waiting", wait: { polls: 2, workStartedAtMs: 1 }, ...changes };
}

function slotsOf(destinations: ReadonlyMap<string, { maxSends: number }>) {
  return createDestinationSlots({
    destinations,
    slots: 64,
    transfers: createShare({ max: 3 }),
    now: () => 1,
  });
}

/** Runs the calls of a client that may hold polls for news. */
function runnerOver(
  client: ExecutionClient,
  options: Partial<Parameters<typeof createCallRunner>[0]> = {},
) {
  const destination = { client, callTimeoutMs: 30_000, maxSends: 12, longPollMs: 5000 };
  const destinations = new Map([["host", destination]]);
  const common = { destinations, slotsOf: slotsOf(destinations), newId: () => "a", now: () => 1 };
  return createCallRunner({ ...common, ...options });
}

/** A client that keeps what it was asked. */
function recordingClient() {
  const calls: Parameters<ExecutionClient["call"]>[0][] = [];
  const client: ExecutionClient = {
    async call(call) {
      calls.push(call as (typeof calls)[number]);
      return { status: "success", response_text: "ok" } as never;
    },
    close: async () => {},
  };
  return { calls, client };
}

describe("the calls of a task", () => {
  it("sends the stored params unchanged, with the id and the session of the task", async () => {
    const { calls, client } = recordingClient();
    await sendTaskCall({ client, callTimeoutMs: 1000, task, signal });
    expect(calls).toMatchObject([
      {
        method: "execute_task",
        id: task.id,
        requestId: task.id,
        sessionId: "s-1",
        params: task.call?.params,
        trace: task.trace,
      },
    ]);
    expect(calls[0]?.params).not.toHaveProperty("bot_token");
  });

  it("adds the bot token only if the destination asks for it, and never to the record", async () => {
    const { calls, client } = recordingClient();
    const taskCopy = structuredClone(task);
    await sendTaskCall({
      client,
      callTimeoutMs: 1000,
      botToken: async () => "xoxb-1",
      task,
      signal,
    });
    expect(calls[0]?.params).toEqual({ ...task.call?.params, bot_token: "xoxb-1" });
    expect(task).toEqual(taskCopy);
  });

  it("sends nothing if the bot token is unreadable or late", async () => {
    const { calls, client } = recordingClient();
    const never = () => new Promise<string>(() => {});
    const request = { client, callTimeoutMs: 60_000, task, signal };
    const failing = sendTaskCall({
      ...request,
      botToken: () => Promise.reject(new Error("no such secret")),
    });
    await expect(failing).rejects.toMatchObject({ reason: "unavailable" });
    const slow = sendTaskCall({ ...request, botToken: never, callTimeoutMs: 10 });
    await expect(slow).rejects.toMatchObject({ reason: "unavailable" });
    const controller = new AbortController();
    const abortedCall = sendTaskCall({ ...request, botToken: never, signal: controller.signal });
    controller.abort();
    await expect(abortedCall).rejects.toMatchObject({ reason: "unavailable" });
    expect(calls).toEqual([]);
  });

  it("sends a person's answer under its stored id on every try", async () => {
    const { calls, client } = recordingClient();
    const runner = runnerOver(client);
    const answer = { user: "U1", atMs: 1, text: "yes", callId: "stored" };
    const question = {
      index: 0,
      prompt: "Shall I?",
      options: [],
      askedAtMs: 1,
      expiresAtMs: 2,
      id: "q1",
      answer,
    };
    const request = { act: { type: "answer" }, task: { ...task, question }, signal } as const;
    for (const _ of [1, 2])
      expect(await runner.run(request)).toMatchObject({ type: "answered", act: "answer" });
    const params = { task_id: "t-1", text: "yes", user_id: "U1", question_id: "q1" };
    expect(calls).toMatchObject(
      [1, 2].map(() => ({ method: "answer_task", id: "stored", params })),
    );
  });

  it("polls with a new id each time, in the session of the task", async () => {
    const { calls, client } = recordingClient();
    const ids = ["a", "b"];
    const poll = { client, callTimeoutMs: 1000, task, newId: () => ids.shift() ?? "", signal };
    await pollTask({ ...poll, by: "task_id", waitMs: 0 });
    await pollTask({ ...poll, by: "request_id", waitMs: 0 });
    expect(calls).toMatchObject([
      {
        method: "get_task",
        id: "a",
        requestId: task.id,
        sessionId: "s-1",
        params: { task_id: "t-1" },
      },
      {
        method: "get_task",
        id: "b",
        requestId: task.id,
        sessionId: "s-1",
        params: { request_id: task.id },
      },
    ]);
  });

  it("never holds the first poll, nor one while unshown news or a cancel is pending", async () => {
    const { calls, client } = recordingClient();
    const runner = runnerOver(client);
    const act = { type: "poll", by: "task_id" } as const;
    const progress = { shownAtMs: 1, text: "half" };
    const tasks = [
      polledTask({ wait: { polls: 1, workStartedAtMs: 1 } }),
      polledTask({ progress: { ...progress, isUnshown: true } }),
      polledTask({ cancelReason: "asked" }),
      polledTask({ progress }),
    ];
    for (const each of tasks) await runner.run({ act, task: each, signal });
    expect(calls.map(({ params }) => Object(params).wait_ms)).toEqual([
      undefined,
      undefined,
      undefined,
      5000,
    ]);
  });

  it("aborts a held poll when the process stops, so that the next process polls", async () => {
    const stop = new AbortController();
    const callStart = Promise.withResolvers<void>();
    const client: ExecutionClient = {
      call: ({ signal: given }) =>
        new Promise((_, reject) => {
          given?.addEventListener("abort", () => reject(new SekishoError("ambiguous")));
          callStart.resolve();
        }),
      close: async () => {},
    };
    const runner = runnerOver(client, { stopping: stop.signal });
    const poll = runner.run({ act: { type: "poll", by: "task_id" }, task: polledTask(), signal });
    await callStart.promise;
    stop.abort();
    expect(await poll).toEqual({ type: "busy", delayMs: expect.any(Number) });
  });

  it("lets a send continue when the process stops, because its outcome would be ambiguous", async () => {
    const stop = new AbortController();
    const [callStart, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
    const client: ExecutionClient = {
      call: ({ signal: given }) => {
        given?.addEventListener("abort", () => answer.reject(new SekishoError("ambiguous")));
        callStart.resolve();
        return answer.promise;
      },
      close: async () => {},
    };
    const runner = runnerOver(client, { stopping: stop.signal });
    const sendEvent = runner.run({ act: { type: "send" }, task, signal });
    await callStart.promise;
    stop.abort();
    answer.resolve({ status: "success", response_text: "ok" } as never);
    expect(await sendEvent).toMatchObject({ type: "answered", act: "send" });
  });

  it("holds a poll at the peer only if the destination allows it and most of its slots are free", async () => {
    const waits: unknown[] = [];
    const answers = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    const client: ExecutionClient = {
      async call({ params }) {
        waits.push(Object(params).wait_ms);
        await answers[waits.length - 1]?.promise;
        return { status: "success", response_text: "ok" } as never;
      },
      close: async () => {},
    };
    const { run } = runnerOver(client);
    const polled = polledTask();
    const act = { type: "poll", by: "task_id" } as const;
    const first = run({ act, task: polled, signal });
    while (waits.length < 1) await new Promise(setImmediate);
    const polls = [first, ...[2, 3].map(() => run({ act, task: polled, signal }))];
    const queuedPolls = [1, 2, 3].map(() => run({ act, task: polled, signal }));
    expect(await run({ act, task: polled, signal })).toMatchObject({ type: "busy" });
    for (const event of await Promise.all(queuedPolls))
      expect(event).toMatchObject({ type: "busy" });
    for (const { resolve } of answers) resolve();
    expect((await Promise.all(polls)).map(({ type }) => type)).toEqual([
      "answered",
      "answered",
      "answered",
    ]);
    expect(waits).toEqual([5000, undefined, undefined]);
  });
});

describe("a task that finds no slot", () => {
  it("keeps a task that finds no slot as not sent, without counting a failure", async () => {
    const world = createWorld({ destination: { maxSends: 0 } });
    const ask = sampleAsk();
    await world.deliver(ask).run({ maxSteps: 10 });
    const record = world.taskOf(ask);
    expect(record).toMatchObject({ state: "sent", attempts: 0, call: { arrival: "none" } });
    expect(world.starts).toEqual([]);
    // Nobody ever had a slot for it: at its deadline it is told.
    await world.run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"unavailable","lost":false}']);
  });
});
