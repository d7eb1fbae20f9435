/** lib/measured-calls.json: how often a task calls AWS, for each kind, as a rehearsal counted it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExecutionKind } from "../../lambdas/shared/config/stage-schema.ts";
import { type Counts, countsOf, keptCountsOf, perPoll } from "./measure.ts";
import { quiet } from "./stage.ts";
import { askAndRead, logged } from "./stories.ts";
import type { World } from "./world.ts";

type Calls = { sync: Counts; perPoll: Counts };
type Measured = { kinds: Partial<Record<ExecutionKind, Calls>> };

const file = join(__dirname, "../../lib/measured-calls.json");

/** A task that is answered at once, and what polls add. Throws where there was none. */
export async function measureCalls(world: World): Promise<Calls> {
  // One batch at a time: two workers at one task would meet by chance, and make it one call more.
  world.pace.mostBatches = 1;
  await askAndRead(world, "good morning", /good morning/);
  await quiet(world);
  const sync = await countsDuring(world, () => askAndRead(world, "What is a sekisho?", /What is a sekisho/));
  const short = await countsDuring(world, () => askAndRead(world, "slow 2s", /slow 2s/));
  const long = await countsDuring(world, () => askAndRead(world, "slow 4s", /slow 4s/));
  // What signs the agent card is read for A2A clients alone.
  const calls = world.gateway.calls.filter(({ resources }) => !resources.join().includes("CARD_KEY"));
  const keptCounts = keptCountsOf(calls);
  world.pace.mostBatches = Number.POSITIVE_INFINITY;
  const polls = long.polls - short.polls;
  if (polls <= 0) throw new Error("A longer task was not polled more often.");
  return {
    sync: sorted({ ...keptCounts, ...sync.counts }),
    perPoll: sorted(perPoll({ long: long.counts, short: short.counts, polls })),
  };
}

async function countsDuring(world: World, story: () => Promise<{ requestId: string }>) {
  const from = world.gateway.calls.length;
  const { requestId } = await story();
  await quiet(world);
  const polls = logged(world, { request_id: requestId, message: "call_answered", operation: "get_task" }).length;
  return { counts: countsOf(world.gateway.calls.slice(from)), polls };
}

/** How often a long poll looks into the table depends on how long the agent takes to begin. */
export function withoutChance({ kind, calls }: { kind: ExecutionKind; calls: Calls | undefined }): Calls | undefined {
  if (kind !== "lambda" || calls === undefined) return calls;
  const { "dynamodb:GetItem": reads = 0, ...sync } = calls.sync;
  if (reads === 0) throw new Error("The table was never read.");
  return { ...calls, sync };
}

export function readMeasured(kind: ExecutionKind): Calls | undefined {
  return readAll().kinds[kind];
}

export function keepMeasured({ kind, calls }: { kind: ExecutionKind; calls: Calls }): void {
  const { kinds } = readAll();
  writeFileSync(file, `${JSON.stringify({ kinds: { ...kinds, [kind]: calls } }, null, 2)}\n`);
}

function readAll(): Measured {
  return JSON.parse(readFileSync(file, "utf8")) as Measured;
}

function sorted(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}
