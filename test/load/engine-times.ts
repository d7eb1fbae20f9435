/** Whether an operation of the sqlite engine takes longer the more tasks wait: each one's time, many at once, so that the disk hardly counts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskItem } from "../../lambdas/shared/engine/ports.ts";
import { openSqliteEngine } from "../../lib/local/engine.ts";

const kinds = ["create", "get", "replace", "list", "send", "receive", "finish"] as const;
type Times = Record<(typeof kinds)[number], number>;

const rounds = 5;
const perRound = 500;
const maxPerReceive = 10;
const laterMs = 3600_000;
const visibilityTimeoutMs = 60_000;

export type EngineTimes = { waiting: number; microseconds: Times };

/** Microseconds an operation with that many tasks waiting, the best of some rounds. */
export async function measureEngineTimes({ waiting }: { waiting: number }): Promise<EngineTimes> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-load-"));
  const engine = openSqliteEngine({ file: join(folder, "zone.db") });
  const store = engine.taskStore({ parse: (json) => json as TaskItem });
  const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
  let lastId = 0;
  const newItem = (): TaskItem => {
    lastId += 1;
    const index = { thread: `C0/${lastId}`, principal: `T0/U${lastId % 10}` };
    return { id: `task ${lastId}`, revision: 1, state: "waiting", ...index, expiresAtMs: Date.now() + laterMs };
  };
  const body = JSON.stringify({ type: "wake", requestId: "0".repeat(36), seq: 1 });
  const many = <T>(count: number, act: () => Promise<T>) => Promise.all(Array.from({ length: count }, act));

  async function round(): Promise<Times> {
    const items = await timed(() => many(perRound, async () => (await store.create({ item: newItem() })) ?? newItem()));
    const read = await timed(() => Promise.all(items.value.map(({ id }) => store.get({ id }))));
    const replaced = await timed(() => Promise.all(items.value.map((item) => store.replace({ item }))));
    const listed = await timed(() => store.list({ index: "state", key: "waiting", limit: perRound }));
    const sent = await timed(() => many(perRound, () => queue.send({ body })));
    const received = await timed(async () => {
      const receive = () => queue.receive({ max: maxPerReceive, visibilityTimeoutMs, waitMs: 0 });
      return (await many(perRound / maxPerReceive, receive)).flat();
    });
    const finished = await timed(() => Promise.all(received.value.map(({ receipt }) => queue.finish({ receipt }))));
    if (!finished.value.every(Boolean) || received.value.length !== perRound)
      throw new Error("the queue lost messages");
    return {
      create: items.microseconds,
      get: read.microseconds,
      replace: replaced.microseconds,
      list: listed.microseconds,
      send: sent.microseconds,
      receive: received.microseconds,
      finish: finished.microseconds,
    };
  }

  try {
    await many(waiting, () => store.create({ item: newItem() }));
    await many(waiting, () => queue.send({ body, delayMs: laterMs }));
    const times: Times[] = [];
    for (let count = 0; count < rounds; count++) times.push(await round());
    const best = kinds.map((kind) => [kind, Math.min(...times.map((time) => time[kind])) / perRound]);
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
