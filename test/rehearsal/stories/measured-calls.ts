/** lib/cdk/measured-calls.json: how often a task calls AWS and how much it logs, as a rehearsal of each kind measures it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExecutionKind } from "../../../lambdas/shared/config/stage-schema.ts";
import { liveSettingsId } from "../../../lambdas/verification/config/stored-settings.ts";
import type { EmfDocument } from "../../shared/telemetry/emf-rules.ts";
import type { Fault, RecordedCall } from "../aws/gateway.ts";
import { quiet } from "../stage.ts";
import type { World } from "../world.ts";
import { askAndRead, logged, withFault, withoutDuplicates } from "./messages.ts";

type Calls = {
  sync: Counts;
  perPoll: Counts;
  /** The bytes of all log lines, including metrics. */
  logBytes: { sync: number; perPoll: number };
  /** The custom metrics of tasks without a failure. */
  customMetrics: number;
};
type Measured = { kinds: Partial<Record<ExecutionKind, Calls>> };

const file = join(__dirname, "../../../lib/cdk/measured-calls.json");

/** Measures a task that is answered at once, and what a poll adds. Throws if a longer task was not polled more often. */
export function measureCalls(world: World): Promise<Calls> {
  return withoutDuplicates(world, () => measure(world));
}

async function measure(world: World): Promise<Calls> {
  // One batch at a time: two workers at one task would meet by chance, which costs one more call.
  world.pace.mostBatches = 1;
  const firstLine = world.lines.length;
  await askAndRead(world, "good morning", /good morning/);
  await quiet(world);
  const sync = await countsDuring(world, () => askAndRead(world, "What is a sekisho?", /What is a sekisho/));
  const [short, long] = await withFault(world, pollEachSecond, async () => [
    await countsDuring(world, () => askAndRead(world, "slow 2s", /slow 2s/)),
    await countsDuring(world, () => askAndRead(world, "slow 4s", /slow 4s/)),
  ]);
  // The key of the agent card is read for A2A clients only.
  const calls = world.gateway.calls.filter(({ resources }) => !resources.join().includes("CARD_KEY"));
  const cachedCalls = cachedCallsOf(calls);
  world.pace.mostBatches = Number.POSITIVE_INFINITY;
  const polls = long.polls - short.polls;
  if (polls <= 0) throw new Error("A longer task was not polled more often.");
  return {
    sync: sorted(count([...cachedCalls, ...sync.calls])),
    perPoll: sorted(perPoll({ long: long.counts, short: short.counts, polls })),
    logBytes: { sync: sync.logBytes, perPoll: Math.round((long.logBytes - short.logBytes) / polls) },
    customMetrics: customMetricsOf(world.lines.slice(firstLine)).size,
  };
}

/** A host that pushes asks to be polled every ten seconds, for which no story waits. Longer delays are those of the cleanup. */
const pollEachSecond: Fault = ({ call: { action, input } }) => {
  const { DelaySeconds: seconds } = input;
  if (action === "sqs:SendMessage" && Number(seconds) > 1 && Number(seconds) <= 10) input.DelaySeconds = 1;
  return undefined;
};

async function countsDuring(world: World, story: () => Promise<{ requestId: string }>) {
  const from = world.gateway.calls.length;
  const fromLine = world.lines.length;
  const { requestId } = await story();
  await quiet(world);
  const polls = logged(world, { request_id: requestId, message: "call_answered", operation: "get_task" }).length;
  const logBytes = loggedBytesOf(world.lines.slice(fromLine));
  const calls = callsOfTask(world.gateway.calls.slice(from));
  return { calls, counts: count(calls), logBytes, polls };
}

/** Returns the calls without those whose number is chance: a long poll reads the table until the agent starts. */
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

/** Returns the largest relative difference of what is logged. Durations and ids are longer or shorter by chance. */
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

type Counts = Record<string, number>;

/** A process caches secrets and the live settings. */
function isCached({ action, context }: RecordedCall): boolean {
  return (
    action === "secretsmanager:GetSecretValue" || [context?.["dynamodb:leadingkeys"]].flat().includes(liveSettingsId)
  );
}

/** Leaves out cached calls, the look for former live settings when a process starts, and the calls that AWS makes for an event source. */
function callsOfTask(calls: readonly RecordedCall[]): RecordedCall[] {
  return calls.filter((call) => call.kind === "code" && !isCached(call) && !call.action.startsWith("ssm:"));
}

/** Takes cached reads once per function, because its number of processes is chance. */
function cachedCallsOf(calls: readonly RecordedCall[]): RecordedCall[] {
  const reads = calls.filter((call) => isCached(call) && /:Get/.test(call.action));
  const once = new Map(reads.map((call) => [`${call.caller} ${call.action} ${call.resources.join()}`, call]));
  return [...once.values()];
}

function count(calls: readonly RecordedCall[]): Counts {
  const counts: Counts = {};
  for (const { action } of calls) counts[action] = (counts[action] ?? 0) + 1;
  return counts;
}

/** CloudWatch Logs charges this much per log event besides its text. */
const bytesPerEvent = 26;

/** Returns the bytes that CloudWatch Logs charges for. */
function loggedBytesOf(lines: readonly { line: string }[]): number {
  return lines.reduce((bytes, { line }) => bytes + Buffer.byteLength(line) + bytesPerEvent, 0);
}

/** Returns the custom metrics of these lines: one per name and combination of dimension values. */
function customMetricsOf(lines: readonly { line: string }[]): Set<string> {
  const documents = lines.filter(({ line }) => line.includes('"_aws"')).map(({ line }) => JSON.parse(line));
  const keys = (documents as EmfDocument[]).flatMap((document) =>
    document._aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
      Metrics.flatMap(({ Name }) =>
        Dimensions.map((names) => JSON.stringify([Name, ...names.map((name) => [name, document[name]])])),
      ),
    ),
  );
  return new Set(keys);
}

/** Returns what one poll adds, from two tasks that differ in their polls. */
function perPoll({ long, short, polls }: { long: Counts; short: Counts; polls: number }): Counts {
  const entries = Object.keys(long).map((action) => {
    const more = ((long[action] ?? 0) - (short[action] ?? 0)) / polls;
    return [action, Math.round(more * 100) / 100] as const;
  });
  return Object.fromEntries(entries.filter(([, more]) => more !== 0));
}
