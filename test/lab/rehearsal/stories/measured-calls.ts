/** test/costs/measured-calls.json: how often a task calls AWS and how much it logs, as a rehearsal of each kind measures it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExecutionKind } from "@sekisho/config/stage-schema.ts";
import { liveSettingsId } from "@sekisho/verification/config/stored-settings.ts";
import type { EmfDocument } from "../../../runtime/telemetry/emf-rules.ts";
import type { Fault, RecordedCall } from "../aws/gateway.ts";
import { quiet } from "../stage.ts";
import type { World } from "../world.ts";
import { askAndRead, withFault, withoutDuplicates } from "./messages.ts";

type Calls = {
  sync: Counts;
  perPoll: Counts;
  /** The bytes of all log lines, including metrics. */
  logBytes: { sync: number; perPoll: number };
  /** The custom metrics of tasks without a failure. */
  customMetrics: number;
};
type Measured = { kinds: Partial<Record<ExecutionKind, Calls>> };

const file = join(__dirname, "../../../costs/measured-calls.json");

/** Measures a task that is answered at once, and what a poll of a longer one adds. Throws if that was not polled often enough. */
export function measureCalls(world: World): Promise<Calls> {
  return withoutDuplicates(world, () => measure(world));
}

async function measure(world: World): Promise<Calls> {
  // One batch at a time: two workers at one task would meet by chance, which costs one more call.
  world.pace.mostBatches = 1;
  const firstLine = world.lines.length;
  await askAndRead(world, "good morning", /good morning/);
  await quiet(world);
  const sync = await countsDuring(world, () =>
    askAndRead(world, "What is a sekisho?", /What is a sekisho/),
  );
  const poll = await measurePoll(world);
  // The key of the agent card is read for A2A clients only.
  const calls = world.gateway.calls.filter(
    ({ resources }) => !resources.join().includes("CARD_KEY"),
  );
  const cachedCalls = cachedCallsOf(calls);
  world.pace.mostBatches = Number.POSITIVE_INFINITY;
  return {
    sync: sorted(count([...cachedCalls, ...sync.calls])),
    perPoll: poll.counts,
    logBytes: { sync: sync.logBytes, perPoll: poll.logBytes },
    customMetrics: customMetricsOf(world.lines.slice(firstLine)).size,
  };
}

/**
 * Returns the least that a poll costs. It ends when the next one is put into the queue. How many polls there are, and whether the
 * task's acceptance, its end or a push comes between two of them, is chance.
 */
async function measurePoll(world: World): Promise<{ counts: Counts; logBytes: number }> {
  const ends: { call: number; line: number }[] = [];
  // A host that pushes asks to be polled every ten seconds, for which no story waits. Longer delays are those of the cleanup.
  const pollEachSecond: Fault = ({ call: { action, input } }) => {
    const seconds = Number(input.DelaySeconds);
    if (action !== "sqs:SendMessage" || !(seconds >= 1 && seconds <= 10)) return undefined;
    input.DelaySeconds = 1;
    ends.push({ call: world.gateway.calls.length, line: world.lines.length });
    return undefined;
  };
  await withFault(world, pollEachSecond, () => askAndRead(world, "slow 6s", /slow 6s/));
  await quiet(world);
  if (ends.length < 4)
    throw new Error(`The task was polled ${ends.length} times, too few to tell what a poll costs.`);
  const polls = ends.slice(1).map((end, index) => {
    const { call, line } = ends[index] as (typeof ends)[number];
    const counts = sorted(count(callsOfTask(world.gateway.calls.slice(call, end.call))));
    return { counts, logBytes: loggedBytesOf(world.lines.slice(line, end.line)) };
  });
  const [least] = polls.sort((a, b) => sum(a.counts) - sum(b.counts) || a.logBytes - b.logBytes);
  return least ?? { counts: {}, logBytes: 0 };
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, number) => total + number, 0);
}

async function countsDuring(world: World, story: () => Promise<unknown>) {
  const from = world.gateway.calls.length;
  const fromLine = world.lines.length;
  await story();
  await quiet(world);
  const logBytes = loggedBytesOf(world.lines.slice(fromLine));
  const calls = callsOfTask(world.gateway.calls.slice(from));
  return { calls, logBytes };
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
export function logDifference({
  calls,
  known,
}: {
  calls: Calls;
  known: Calls | undefined;
}): number {
  if (known === undefined) return Number.POSITIVE_INFINITY;
  const pairs = [
    [calls.logBytes.sync, known.logBytes.sync],
    [calls.logBytes.perPoll, known.logBytes.perPoll],
    [calls.customMetrics, known.customMetrics],
  ] as const;
  return Math.max(
    ...pairs.map(([now, oldValue]) => Math.abs(now - oldValue) / Math.max(now, oldValue)),
  );
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
    action === "secretsmanager:GetSecretValue" ||
    [context?.["dynamodb:leadingkeys"]].flat().includes(liveSettingsId)
  );
}

/** Leaves out cached calls, the look for former live settings when a process starts, and the calls that AWS makes for an event source. */
function callsOfTask(calls: readonly RecordedCall[]): RecordedCall[] {
  return calls.filter(
    (call) => call.kind === "code" && !isCached(call) && !call.action.startsWith("ssm:"),
  );
}

/** Takes cached reads once per function, because its number of processes is chance. */
function cachedCallsOf(calls: readonly RecordedCall[]): RecordedCall[] {
  const reads = calls.filter((call) => isCached(call) && /:Get/.test(call.action));
  const once = new Map(
    reads.map((call) => [`${call.caller} ${call.action} ${call.resources.join()}`, call]),
  );
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
  const documents = lines
    .filter(({ line }) => line.includes('"_aws"'))
    .map(({ line }) => JSON.parse(line));
  const keys = (documents as EmfDocument[]).flatMap((document) =>
    document._aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
      Metrics.flatMap(({ Name }) =>
        Dimensions.map((names) =>
          JSON.stringify([Name, ...names.map((name) => [name, document[name]])]),
        ),
      ),
    ),
  );
  return new Set(keys);
}
