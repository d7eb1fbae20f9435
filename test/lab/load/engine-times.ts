/** How fast the sqlite engine is by itself, and whether an operation takes longer the more tasks wait. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";

const kinds = ["create", "get", "replace", "list", "send", "receive", "finish"] as const;
type Times = Record<(typeof kinds)[number], number>;

const rounds = 5;
const perRound = 500;
const maxPerReceive = 10;
const laterMs = 3600_000;
const visibilityTimeoutMs = 60_000;

export type EngineTimes = { waiting: number; microseconds: Times };

/** Measures the microseconds per operation while that many tasks wait. Takes the best of some rounds, many operations at once. */
export async function measureEngineTimes({ waiting }: { waiting: number }): Promise<EngineTimes> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-load-"));
  const engine = openSqliteEngine({ file: join(folder, "zone.db") });
  const store = engine.taskStore({ parse: (json) => json as TaskItem });
  const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
  let lastId = 0;
  const newItem = (): TaskItem => {
    lastId += 1;
    const index = { thread: `C0/${lastId}`, principal: `T0/U${lastId % 10}` };
    return {
      id: `task ${lastId}`,
      revision: 1,
      state: "waiting",
      ...index,
      expiresAtMs: Date.now() + laterMs,
    };
  };
  const body = JSON.stringify({ type: "wake", requestId: "0".repeat(36), seq: 1 });
  const many = <T>(count: number, act: () => Promise<T>) =>
    Promise.all(Array.from({ length: count }, act));

  async function round(): Promise<Times> {
    const items = await timed(() =>
      many(perRound, async () => (await store.create({ item: newItem() })) ?? newItem()),
    );
    const read = await timed(() => Promise.all(items.value.map(({ id }) => store.get({ id }))));
    const replaced = await timed(() =>
      Promise.all(items.value.map((item) => store.replace({ item }))),
    );
    const listed = await timed(() =>
      store.list({ index: "state", key: "waiting", limit: perRound }),
    );
    const sendTime = await timed(() => many(perRound, () => queue.send({ body })));
    const requests = await timed(async () => {
      const receive = () => queue.receive({ max: maxPerReceive, visibilityTimeoutMs, waitMs: 0 });
      return (await many(perRound / maxPerReceive, receive)).flat();
    });
    const finished = await timed(() =>
      Promise.all(requests.value.map(({ receipt }) => queue.finish({ receipt }))),
    );
    if (!finished.value.every(Boolean) || requests.value.length !== perRound)
      throw new Error("the queue lost messages");
    return {
      create: items.microseconds,
      get: read.microseconds,
      replace: replaced.microseconds,
      list: listed.microseconds,
      send: sendTime.microseconds,
      receive: requests.microseconds,
      finish: finished.microseconds,
    };
  }

  try {
    await many(waiting, () => store.create({ item: newItem() }));
    await many(waiting, () => queue.send({ body, delayMs: laterMs }));
    const times: Times[] = [];
    for (let count = 0; count < rounds; count++) times.push(await round());
    const best = kinds.map((kind) => [
      kind,
      Math.min(...times.map((time) => time[kind])) / perRound,
    ]);
    return { waiting, microseconds: Object.fromEntries(best) as Times };
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed<T>(act: () => Promise<T>): Promise<{ value: T; microseconds: number }> {
  const startMs = performance.now();
  const value = await act();
  return { value, microseconds: (performance.now() - startMs) * 1000 };
}

const underWay = 64;
const tasksEach = 8;
const aloneRounds = 3;

/** The operations of a task. A message is sent, received and finished. */
export type OperationsPerTask = { gets: number; replaces: number; messages: number };

/** Measures the tasks per second that the engine alone could do, with as many at once as a worker has slots. Takes the best round. */
export async function engineTasksPerSecond({
  gets,
  replaces,
  messages,
}: OperationsPerTask): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-load-"));
  const engine = openSqliteEngine({ file: join(folder, "zone.db") });
  const store = engine.taskStore({ parse: (json) => json as TaskItem & { text: string } });
  const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
  const text = "x".repeat(800);
  const body = JSON.stringify({ type: "wake", requestId: "0".repeat(36), seq: 1 });
  let lastId = 0;

  async function task(): Promise<void> {
    lastId += 1;
    const id = `task ${lastId}`;
    const expiresAtMs = Date.now() + 3600_000;
    let item = await store.create({
      item: { id, revision: 1, state: "received", expiresAtMs, text },
    });
    for (let done = 0; done < replaces; done++) item = item && (await store.replace({ item }));
    for (let done = 0; done < gets; done++) await store.get({ id });
    for (let done = 0; done < messages; done++) {
      await queue.send({ body });
      const [message] = await queue.receive({
        max: 1,
        visibilityTimeoutMs: 60_000,
        waitMs: 10_000,
      });
      if (message === undefined || !(await queue.finish(message)))
        throw new Error("the queue lost a message");
    }
    if (item === undefined) throw new Error("the store lost a task");
  }
  async function slot(): Promise<void> {
    for (let done = 0; done < tasksEach; done++) await task();
  }

  try {
    let best = 0;
    for (let round = 0; round < aloneRounds; round++) {
      const startMs = performance.now();
      await Promise.all(Array.from({ length: underWay }, slot));
      best = Math.max(best, (underWay * tasksEach) / ((performance.now() - startMs) / 1000));
    }
    return best;
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
