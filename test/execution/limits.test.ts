/** What one caller may have at once. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createRunSlots } from "@sekisho/execution/limits.ts";
import fc from "fast-check";
import {
  createGate,
  createTestHost,
  eventually,
  hello,
  memoryStore,
  yielding,
} from "./test-host.ts";

/** Everyone is who they say they are. */
const authenticator: Authenticator = {
  kind: "bearer",
  authenticate: async ({ header }) => header("x-caller"),
};

const as = (caller: string) => ({ headers: { "x-caller": caller } });
const limits = { runsPerCaller: 2, openCallsPerCaller: 1000 };
const refusal = { code: -32070, data: { reason: "rate_limited", retryable: true } };

function startLimited(options: Parameters<typeof createTestHost>[0] = {}) {
  const gate = createGate();
  return {
    ...gate,
    ...createTestHost({ authenticator, agent: gate.agent, limits, syncBudgetMs: 0, ...options }),
  };
}

describe("runs of one caller", () => {
  it("refuses runs beyond the limit with rate_limited and a delay, and stores nothing of them", async () => {
    const { call, started, letGo } = startLimited();
    for (let i = 0; i < 2; i++)
      expect((await call("execute_task", hello, as("a"))).result?.status).toBe("accepted");
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id, ...as("a") });
    expect(error).toMatchObject(refusal);
    expect(Number(error?.data.retry_after_ms)).toBeGreaterThanOrEqual(15_000);
    expect(Number(error?.data.retry_after_ms)).toBeLessThanOrEqual(30_000);
    expect((await call("get_task", { request_id: id }, as("a"))).error?.data.reason).toBe(
      "task_not_found",
    );
    expect(started).toHaveLength(2);
    letGo();
  });

  it("limits the runs of a caller that arrive at the same moment", async () => {
    const { call, started, letGo } = startLimited();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => call("execute_task", hello, as("a"))),
    );
    expect(answers.filter(({ result }) => result?.status === "accepted")).toHaveLength(2);
    expect(answers.filter(({ error }) => error?.data.reason === "rate_limited")).toHaveLength(48);
    expect(started).toHaveLength(2);
    letGo();
  });

  it("does not count the runs of another caller", async () => {
    const { call, letGo } = startLimited();
    for (let i = 0; i < 3; i++) await call("execute_task", hello, as("a"));
    expect((await call("execute_task", hello, as("b"))).result?.status).toBe("accepted");
    letGo();
  });

  it("frees a slot when a run ends or is canceled, and then accepts the refused request", async () => {
    const { call, letGo } = startLimited();
    const first = await call("execute_task", hello, as("a"));
    await call("execute_task", hello, as("a"));
    const id = randomUUID();
    const again = () => call("execute_task", hello, { id, ...as("a") });
    expect((await again()).error).toMatchObject(refusal);
    await call("cancel_task", { task_id: first.result?.task_id }, as("a"));
    await eventually(async () => (await again()).result?.status === "accepted");
    letGo();
    await eventually(async () => (await again()).result?.status === "success");
    for (let i = 0; i < 5; i++)
      await eventually(
        async () => (await call("execute_task", hello, as("a"))).result !== undefined,
      );
  });

  it.each(["cancel_task", "timeout"])(
    "keeps the slot of a run after %s until the agent returns",
    async (end) => {
      const stubborn = createGate({ heedsSignal: false });
      const { call } = startLimited({ agent: stubborn.agent });
      const timeout_ms = end === "timeout" ? 1000 : 60_000;
      for (let i = 0; i < 2; i++) {
        const { result } = await call("execute_task", { ...hello, timeout_ms }, as("a"));
        const name = { task_id: result?.task_id };
        if (end === "cancel_task") await call(end, name, as("a"));
        else
          await eventually(
            async () => (await call("get_task", name, as("a"))).error?.data.reason === end,
          );
      }
      for (let i = 0; i < 5; i++)
        expect((await call("execute_task", hello, as("a"))).error).toMatchObject(refusal);
      expect(stubborn.started).toHaveLength(2);
      stubborn.letGo();
      await eventually(
        async () => (await call("execute_task", hello, as("a"))).result !== undefined,
      );
    },
  );

  it("keeps the slot of a request while its repetition fails at the store", async () => {
    const store = memoryStore();
    const { promise: creation, resolve: letCreate } = Promise.withResolvers<void>();
    const lone = randomUUID();
    let tries = 0;
    const create: typeof store.create = async (request) => {
      if (String(request.item.requestId) !== lone) return store.create(request);
      tries += 1;
      if (tries > 1) throw new Error("away");
      await creation;
      return store.create(request);
    };
    const { call, started, letGo } = startLimited({ store: { ...store, create } });
    await call("execute_task", hello, as("a"));
    const first = call("execute_task", hello, { id: lone, ...as("a") });
    await eventually(() => tries === 1);
    const repeatedCall = await call("execute_task", hello, { id: lone, ...as("a") });
    expect(repeatedCall.error?.data.reason).toBe("unavailable");
    // The place of the first one is still its own.
    expect((await call("execute_task", hello, as("a"))).error).toMatchObject(refusal);
    letCreate();
    expect((await first).result?.status).toBe("accepted");
    expect(started).toHaveLength(2);
    letGo();
  });

  it("finds a running task for a repeated request without using another slot", async () => {
    const { call, letGo } = startLimited();
    const id = randomUUID();
    await call("execute_task", hello, { id, ...as("a") });
    await call("execute_task", hello, as("a"));
    expect((await call("execute_task", hello, { id, ...as("a") })).result?.status).toBe("accepted");
    letGo();
  });

  it("refuses an answer beyond the limit and accepts the same answer later", async () => {
    let asks = true;
    const gate = createGate();
    const asking = yielding({ type: "question", prompt: "Which one?" });
    const { call } = startLimited({
      agent: (task, context) => (asks ? asking : gate.agent)(task, context),
    });
    const { result } = await call("execute_task", hello, as("a"));
    const question = { task_id: result?.task_id };
    await eventually(
      async () => (await call("get_task", question, as("a"))).result?.status === "input_required",
    );
    asks = false;
    for (let i = 0; i < 2; i++) await call("execute_task", hello, as("a"));
    const answer = { id: randomUUID(), ...as("a") };
    expect((await call("answer_task", { ...question, text: "this" }, answer)).error).toMatchObject(
      refusal,
    );
    expect((await call("get_task", question, as("a"))).result?.status).toBe("input_required");
    gate.letGo();
    await eventually(
      async () =>
        (await call("answer_task", { ...question, text: "this" }, answer)).result?.status !==
        undefined,
    );
    await eventually(
      async () => (await call("get_task", question, as("a"))).result?.status === "success",
    );
  });

  it("frees the slot when the store does not accept the task", async () => {
    const store = memoryStore();
    let isAway = true;
    const create: typeof store.create = (request) =>
      isAway ? Promise.reject(new Error("away")) : store.create(request);
    const { call, letGo } = startLimited({ store: { ...store, create } });
    for (let i = 0; i < 5; i++) {
      expect((await call("execute_task", hello, as("a"))).error?.data.reason).toBe("unavailable");
    }
    isAway = false;
    expect((await call("execute_task", hello, as("a"))).result?.status).toBe("accepted");
    letGo();
  });
});

describe("calls of a caller without waiting calls", () => {
  it("answers at once to a caller that is not allowed to wait, while other callers wait for the end", async () => {
    const mayWait = (principal: string) => principal === "patient";
    const { call, letGo } = startLimited({
      limits: { ...limits, runsPerCaller: 9 },
      syncBudgetMs: 60_000,
      mayWait,
    });
    let isHeld = true;
    const heldCall = call("execute_task", hello, as("patient")).finally(() => {
      isHeld = false;
    });
    const { result } = await call("execute_task", hello, as("a"));
    expect(result?.status).toBe("accepted");
    const poll = { task_id: result?.task_id, wait_ms: 25_000 };
    expect((await call("get_task", poll, as("a"))).result?.status).toBe("accepted");
    expect(isHeld).toBe(true);
    letGo();
    expect((await heldCall).result?.status).toBe("success");
  });
});

describe("waiting calls of one caller", () => {
  it("answers at once beyond the limit of waiting calls", async () => {
    const { call, letGo } = startLimited({ limits: { runsPerCaller: 9, openCallsPerCaller: 1 } });
    const { result } = await call("execute_task", hello, as("a"));
    const wait = (ms: number) =>
      call("get_task", { task_id: result?.task_id, wait_ms: ms }, as("a"));
    let isHeld = true;
    const heldCall = wait(25_000).finally(() => {
      isHeld = false;
    });
    // Whether the first one waits already shows in the second one's being answered.
    expect((await wait(25_000)).result?.status).toBe("accepted");
    expect(isHeld).toBe(true);
    letGo();
    expect((await heldCall).result?.status).toBe("success");
  });
});

it("a slot count never exceeds its maximum and has all slots free at the end", () => {
  const ids = fc.constantFrom("1", "2", "3");
  const acts = fc.array(fc.record({ act: fc.constantFrom("take", "occupy", "release"), id: ids }), {
    maxLength: 50,
    size: "max",
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 }), acts, (max, list) => {
      const slots = createRunSlots({ max });
      const heldSlots: { id: string; release: () => void }[] = [];
      for (const { act, id } of list) {
        if (act === "release") {
          const first = heldSlots.findIndex((each) => each.id === id);
          const [releasedSlot] = first === -1 ? [] : heldSlots.splice(first, 1);
          // A second time changes nothing.
          for (const _ of [1, 2]) releasedSlot?.release();
          continue;
        }
        const takenIds = new Set(heldSlots.map((each) => each.id));
        const isFree = takenIds.has(id) || takenIds.size < max;
        const release = slots[act]({ principal: "a", id });
        expect(release !== undefined).toBe(act === "occupy" || isFree);
        if (release !== undefined) heldSlots.push({ id, release });
      }
      for (const { release } of heldSlots) release();
      for (let i = 0; i < max; i++)
        expect(slots.take({ principal: "a", id: `new ${i}` })).toBeDefined();
      expect(slots.take({ principal: "a", id: "more" })).toBeUndefined();
    }),
  );
});
