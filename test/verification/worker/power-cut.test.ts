/** A power cut on the machine of the Verification zone, whose sqlite engine does not wait for the disk at each commit. */
import { expect, it } from "@jest/globals";
import type { Database } from "@sekisho/runtime/engine/sqlite/database.ts";
import { type PowerCutOptions, type PowerCutRun, runWithPowerCut } from "./power-cut-world.ts";

/** Cuts the power at each moment of a task, with each state of the disk that may follow. */
async function* cutAnywhere(
  options: PowerCutOptions,
): AsyncGenerator<PowerCutRun & { cutAt: number }> {
  const { moments } = await runWithPowerCut(options);
  for (let cutAt = 1; cutAt <= moments; cutAt += 1) {
    for (let survivors = 0, unsyncedBytes = 0; survivors <= unsyncedBytes; survivors += 1) {
      const run = await runWithPowerCut({ ...options, cutAt, survivors });
      yield { ...run, cutAt };
      unsyncedBytes = run.unsynced;
    }
  }
}

async function hasRun(
  options: PowerCutOptions,
  isWanted: (run: PowerCutRun) => boolean,
): Promise<boolean> {
  for await (const run of cutAnywhere(options)) if (isWanted(run)) return true;
  return false;
}

/** As an engine that never waits for the disk. */
function withoutSync(database: Database): Database {
  return { ...database, write: (operation) => database.write(operation, { isSynced: false }) };
}

const once = { starts: 1, answers: 1 };

it.each([
  ["answered at once", 0],
  ["polled", 2],
])(
  "starts the agent once and shows one answer of a task that is %s after a power cut at any moment",
  async (_, polls) => {
    let lossy = 0;
    for await (const { cutAt, unsynced: unsyncedBytes, starts, answers } of cutAnywhere({
      pollsUntilDone: polls,
    })) {
      expect({ cutAt, starts, answers }).toEqual({ cutAt, ...once });
      if (unsyncedBytes > 0) lossy += 1;
    }
    expect(lossy).toBeGreaterThan(5);
  },
);

it("starts an agent without deduplication at most once after a power cut at any moment", async () => {
  for await (const { cutAt, starts, answers } of cutAnywhere({ isIdempotent: false })) {
    expect({ cutAt, isTwice: starts > 1, answers }).toEqual({ cutAt, isTwice: false, answers: 1 });
  }
});

it("notices a second start if records do not wait for the disk", async () => {
  const options = { isIdempotent: false, storeDatabase: withoutSync };
  expect(await hasRun(options, ({ starts }) => starts > 1)).toBe(true);
});

it("notices a message without an answer if sent messages do not wait for the disk", async () => {
  expect(await hasRun({ queueDatabase: withoutSync }, ({ answers }) => answers === 0)).toBe(true);
});
