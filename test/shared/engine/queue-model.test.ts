/** The sqlite task queue against an array, in any order of operations and any distance in time. */
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createSqliteQueue } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { type Clock, createVirtualClock } from "../../conformance/clock.ts";
import { maxReceiveCount, type Queue } from "../../conformance/task-queue.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

type Kept = { body: string; sentAtMs: number; visibleAtMs: number; receiveCount: number; isDead: boolean };
type Delivery = { receipt: string; of: Kept; receiveCount: number; isDead: boolean };
/** `deliveries` remembers every receipt that was ever given out. */
type Model = { kept: Kept[]; sent: number; deliveries: Delivery[] };
type Real = { queue: Queue; dead: Queue; clock: Clock };
type Command = fc.AsyncCommand<Model, Real>;

const visibilityTimeoutMs = 20;
let sqlite: SqliteFile;
beforeAll(() => {
  sqlite = createSqliteFile();
});
afterAll(() => sqlite.remove());

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name };
}

const sends = fc.constantFrom(0, 0, 10, 25).map((delayMs) =>
  command(`send(${delayMs})`, async (model, { queue, clock }) => {
    model.sent += 1;
    const body = `message ${model.sent}`;
    await queue.send({ body, delayMs });
    const sentAtMs = clock.nowMs();
    model.kept.push({ body, sentAtMs, visibleAtMs: sentAtMs + delayMs, receiveCount: 0, isDead: false });
  }),
);

/** Which of the due messages come is the queue's choice; that they were due, and how often they came, is not. */
function receives(isDead: boolean): fc.Arbitrary<Command> {
  return fc.integer({ min: 1, max: 4 }).map((max) =>
    command(`receive(${isDead ? "dead, " : ""}${max})`, async (model, { queue, dead, clock }) => {
      const from = isDead ? dead : queue;
      const messages = await from.receive({ max, visibilityTimeoutMs, waitMs: 0 });
      expect(messages.length).toBeLessThanOrEqual(max);
      for (const { body, receipt, receiveCount, sentAtMs } of messages) {
        const kept = model.kept.find((candidate) => candidate.body === body);
        if (kept === undefined) throw new Error(`${body} was finished, or never sent`);
        expect(kept.visibleAtMs).toBeLessThanOrEqual(clock.nowMs());
        if (isDead && !kept.isDead) {
          expect(kept.receiveCount).toBe(maxReceiveCount);
          Object.assign(kept, { isDead, receiveCount: 0 });
        }
        expect({ isDead: kept.isDead, sentAtMs }).toEqual({ isDead, sentAtMs: kept.sentAtMs });
        kept.receiveCount += 1;
        kept.visibleAtMs = clock.nowMs() + visibilityTimeoutMs;
        expect(receiveCount).toBe(kept.receiveCount);
        if (!isDead) expect(receiveCount).toBeLessThanOrEqual(maxReceiveCount);
        model.deliveries.push({ receipt, of: kept, receiveCount, isDead });
      }
      if (messages.length > 0) return;
      const isOverdue = (kept: Kept) => kept.visibleAtMs <= clock.nowMs() && kept.isDead === isDead;
      expect(model.kept.filter((kept) => isOverdue(kept) && (isDead || kept.receiveCount < maxReceiveCount))).toEqual(
        [],
      );
    }),
  );
}

const finishes = fc.nat().map((pick) =>
  command(`finish(${pick})`, async (model, { queue, dead, clock }) => {
    const delivery = model.deliveries.at(-1 - (pick % 6));
    if (delivery === undefined) return;
    const { receipt, of, receiveCount, isDead } = delivery;
    const isHeld =
      model.kept.includes(of) &&
      of.isDead === isDead &&
      of.receiveCount === receiveCount &&
      of.visibleAtMs > clock.nowMs();
    expect(await (isDead ? dead : queue).finish({ receipt })).toBe(isHeld);
    if (isHeld) model.kept.splice(model.kept.indexOf(of), 1);
  }),
);

const waits = fc
  .constantFrom(1, 5, 20)
  .map((ms) => command(`advance(${ms})`, (_model, { clock }) => clock.advance({ ms })));

it("does what the model does", async () => {
  const database = sqlite.open();
  const all = [sends, receives(false), receives(false), receives(true), finishes, waits];
  await fc.assert(
    fc.asyncProperty(fc.commands(all, { maxCommands: 80, size: "max" }), async (commands) => {
      await database.write(() => database.prepare("DELETE FROM messages").run());
      const clock = createVirtualClock();
      const shared = { database, now: clock.nowMs };
      const queue = createSqliteQueue({ ...shared, name: "tasks", maxReceiveCount, deadLetterQueue: "dead" });
      const dead = createSqliteQueue({ ...shared, name: "dead" });
      await fc.asyncModelRun(
        () => ({ model: { kept: [], sent: 0, deliveries: [] }, real: { queue, dead, clock } }),
        commands,
      );
    }),
    { numRuns: 60 },
  );
});
