/** The installation flow's ledgers: the same promises in memory and in the table of a stage. */

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  createMemoryLedger,
  formatInstallDay,
  type InstallLedger,
} from "@sekisho/verification/oauth/ledger.ts";
import { createTableLedger } from "@sekisho/verification/oauth/table-ledger.ts";
import fc from "fast-check";
import {
  type Emulator,
  emulatorAccess,
  startDynamoDbEmulator,
  whyNoDynamoDb,
} from "../../doubles/aws/emulators.ts";
import { createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { forAll } from "../../doubles/for-all.ts";

const startMs = Date.UTC(2026, 10, 22, 12);
const dayMs = 86_400_000;
const maxPerDay = 3;
let nowMs = startMs;
const now = () => nowMs;

function promises(create: () => Promise<{ ledger: InstallLedger; another: InstallLedger }>): void {
  it("accepts a state only once, also for concurrent uses", async () => {
    const { ledger, another } = await create();
    const uses = [ledger, another, ledger, another].map((each) =>
      each.useState({ id: "first", issuedAtMs: nowMs }),
    );
    expect((await Promise.all(uses)).filter((isFirst) => isFirst)).toHaveLength(1);
    expect(await another.useState({ id: "first", issuedAtMs: nowMs })).toBe(false);
    expect(await ledger.useState({ id: "second", issuedAtMs: nowMs })).toBe(true);
  });

  it("counts the installations of a day and starts again on the next day", async () => {
    nowMs = startMs;
    const { ledger, another } = await create();
    const counts: boolean[] = [];
    for (const each of [ledger, another, ledger, another, ledger])
      counts.push(await each.countInstallation());
    expect(counts).toEqual([true, true, true, false, false]);
    nowMs += dayMs;
    expect(await ledger.countInstallation()).toBe(true);
  });
}

describe("the ledger of one process", () => {
  promises(async () => {
    const ledger = createMemoryLedger({ maxPerDay, now });
    return { ledger, another: ledger };
  });

  it("lets others install after somebody used up all states that it remembers", async () => {
    nowMs = startMs;
    const ledger = createMemoryLedger({ maxStates: 100, now });
    const use = (state: string, issuedAtMs: number) => ledger.useState({ id: state, issuedAtMs });
    for (let count = 0; count < 1000; count += 1) {
      expect(await use(`state-${count}`, startMs + count)).toBe(true);
    }
    nowMs += 2000;
    expect(await use("of a person", nowMs)).toBe(true);
    for (let count = 0; count < 1000; count += 1) {
      expect(await use(`state-${count}`, startMs + count)).toBe(false);
    }
    expect(await use("of a person", nowMs)).toBe(false);
  });

  it("never accepts a state twice and always accepts a new one, in any order", async () => {
    const uses = fc.array(fc.record({ id: fc.nat(20), ageMs: fc.nat(5), laterMs: fc.nat(3) }), {
      maxLength: 100,
    });
    await forAll(uses).holdAsync(async (each) => {
      nowMs = startMs;
      const ledger = createMemoryLedger({ maxStates: 4, now });
      const usedNames = new Set<string>();
      const issueTimes = new Map<number, number>();
      for (const { id, ageMs, laterMs } of each) {
        nowMs += laterMs;
        const issuedAtMs = issueTimes.get(id) ?? nowMs - ageMs;
        issueTimes.set(id, issuedAtMs);
        const state = `state-${id}`;
        if (!(await ledger.useState({ id: state, issuedAtMs }))) continue;
        expect(usedNames).not.toContain(state);
        usedNames.add(state);
      }
      nowMs += 1;
      expect(await ledger.useState({ id: "new", issuedAtMs: nowMs })).toBe(true);
    });
  });

  it.each([
    ["drops the older half when it is full, and refuses every state of that age", 2, false],
    ["keeps all states before it is full", 3, true],
  ])("the ledger %s", async (_title, maxStates, isTaken) => {
    nowMs = startMs;
    const ledger = createMemoryLedger({ maxStates, now });
    expect(await ledger.useState({ id: "old", issuedAtMs: startMs })).toBe(true);
    expect(await ledger.useState({ id: "newer", issuedAtMs: startMs + 1 })).toBe(true);
    expect(await ledger.useState({ id: "as old", issuedAtMs: startMs })).toBe(isTaken);
  });

  it.each([
    [2, false],
    [3, true],
  ])(
    "decides whether to accept a state as old as entry %i (from 0) of five in a full ledger: %s",
    async (index, isTaken) => {
      nowMs = startMs;
      const ledger = createMemoryLedger({ maxStates: 5, now });
      for (let count = 0; count < 5; count += 1)
        await ledger.useState({ id: `state-${count}`, issuedAtMs: startMs + count });
      expect(await ledger.useState({ id: "new", issuedAtMs: startMs + index })).toBe(isTaken);
    },
  );

  it("allows fifty installations a day by default", async () => {
    const ledger = createMemoryLedger({ now });
    for (let count = 0; count < 50; count += 1) expect(await ledger.countInstallation()).toBe(true);
    expect(await ledger.countInstallation()).toBe(false);
  });

  it("refuses no state because of expired ones", async () => {
    nowMs = startMs;
    const ledger = createMemoryLedger({ maxStates: 4, now });
    const use = (state: string, afterMs: number) =>
      ledger.useState({ id: state, issuedAtMs: startMs + afterMs });
    for (const [state, afterMs] of [
      ["a", 0],
      ["b", 300_000],
      ["c", 310_000],
      ["d", 320_000],
    ] as const) {
      expect(await use(state, afterMs)).toBe(true);
    }
    nowMs += 600_000;
    expect(await use("e", 200_000)).toBe(true);
    expect(await use("d", 320_000)).toBe(false);
  });
});

it("counts the installations of a UTC day", () => {
  expect(formatInstallDay(Date.UTC(2026, 10, 22, 23, 59))).toBe("2026-11-22");
});

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
suite(`the ledger of a stage${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let emulator: Emulator;
  let client: DynamoDBClient;

  beforeAll(async () => {
    emulator = await startDynamoDbEmulator();
    client = new DynamoDBClient({ ...emulatorAccess, endpoint: emulator.endpoint });
  });
  afterAll(async () => {
    client.destroy();
    await emulator.close();
  });

  promises(async () => {
    const table = await createTaskTable({ client });
    const { region, credentials } = emulatorAccess;
    const aws = {
      region,
      credentials: async () => credentials,
      endpointOf: () => new URL(emulator.endpoint),
    };
    const create = () => createTableLedger({ table, aws, maxPerDay, now });
    return { ledger: create(), another: create() };
  });
});
