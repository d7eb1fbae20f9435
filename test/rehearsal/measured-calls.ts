/** lib/cdk/measured-calls.json: how often a task calls AWS and how much it logs, for each kind, as a rehearsal counted it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExecutionKind } from "../../lambdas/shared/config/stage-schema.ts";
import { type Counts, countsOf, customMetricsOf, keptCountsOf, loggedBytesOf, perPoll } from "./measure.ts";
import { quiet } from "./stage.ts";
import { askAndRead, logged } from "./stories.ts";
import type { World } from "./world.ts";

type Calls = {
  sync: Counts;
  perPoll: Counts;
  /** Of all log lines, metric lines among them. */
  logBytes: { sync: number; perPoll: number };
  /** Custom metrics in CloudWatch that tasks without a failure make. */
  customMetrics: number;
};
type Measured = { kinds: Partial<Record<ExecutionKind, Calls>> };

const file = join(__dirname, "../../lib/cdk/measured-calls.json");

/** A task that is answered at once, and what polls add. Throws where there was none. */
export async function measureCalls(world: World): Promise<Calls> {
  // One batch at a time: two workers at one task would meet by chance, and make it one call more.
  world.pace.mostBatches = 1;
  const firstLine = world.lines.length;
  const { every } = world.queues.duplicates;
  world.queues.duplicates.every = Number.POSITIVE_INFINITY;
  await askAndRead(world, "good morning", /good morning/);
  await quiet(world);
  const sync = await countsDuring(world, () => askAndRead(world, "What is a sekisho?", /What is a sekisho/));
  const short = await countsDuring(world, () => askAndRead(world, "slow 2s", /slow 2s/));
  const long = await countsDuring(world, () => askAndRead(world, "slow 4s", /slow 4s/));
  // What signs the agent card is read for A2A clients alone.
  const calls = world.gateway.calls.filter(({ resources }) => !resources.join().includes("CARD_KEY"));
  const keptCounts = keptCountsOf(calls);
  world.pace.mostBatches = Number.POSITIVE_INFINITY;
  world.queues.duplicates.every = every;
  const polls = long.polls - short.polls;
  if (polls <= 0) throw new Error("A longer task was not polled more often.");
  return {
    sync: sorted({ ...keptCounts, ...sync.counts }),
    perPoll: sorted(perPoll({ long: long.counts, short: short.counts, polls })),
    logBytes: { sync: sync.logBytes, perPoll: Math.round((long.logBytes - short.logBytes) / polls) },
    customMetrics: customMetricsOf(world.lines.slice(firstLine)).size,
  };
}

async function countsDuring(world: World, story: () => Promise<{ requestId: string }>) {
  const from = world.gateway.calls.length;
  const fromLine = world.lines.length;
  const { requestId } = await story();
  await quiet(world);
  const polls = logged(world, { request_id: requestId, message: "call_answered", operation: "get_task" }).length;
  const logBytes = loggedBytesOf(world.lines.slice(fromLine));
  return { counts: countsOf(world.gateway.calls.slice(from)), logBytes, polls };
}

/** The calls alone, without those whose number is chance: a long poll looks into the table until the agent begins. */
export function withoutChance({
  kind,
  calls,
}: {
  kind: ExecutionKind;
  calls: Calls | undefined;
}): Pick<Calls, "sync" | "perPoll"> | undefined {
  if (calls === undefined) return undefined;
  const { perPoll } = calls;
  if (kind !== "lambda") return { sync: calls.sync, perPoll };
  const { "dynamodb:GetItem": reads = 0, ...sync } = calls.sync;
  if (reads === 0) throw new Error("The table was never read.");
  return { sync, perPoll };
}

/** The largest difference of what is logged, as a share: durations and ids are longer or shorter by chance. */
export function logDifference({ calls, known }: { calls: Calls; known: Calls | undefined }): number {
  if (known === undefined) return Number.POSITIVE_INFINITY;
  const pairs = [
    [calls.logBytes.sync, known.logBytes.sync],
    [calls.logBytes.perPoll, known.logBytes.perPoll],
    [calls.customMetrics, known.customMetrics],
  ] as const;
  return Math.max(...pairs.map(([now, before]) => Math.abs(now - before) / Math.max(now, before)));
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
