/** Carries out a plan: people ask, zones are killed, and in the end every promise is checked. */
import { setTimeout as wait } from "node:timers/promises";
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import type { FakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { metadataSchema, readPostKey } from "@sekisho/verification/slack/api/post-keys.ts";
import { hangMs } from "../../tooling/hang.ts";
import { type Evidence, isUnheard, leaksOf, outcomeOf, violationsOf } from "./checks.ts";
import { createPeople, type Message, type People } from "./people.ts";
import type { Plan, Zone } from "./plan.ts";
import type { Report } from "./report.ts";
import { overlapsOf, type StoredRecords } from "./stored-records.ts";

/** Both zones, wherever they run. */
export type Zones = {
  eventsUrl: string;
  /** Kills what runs, which is then replaced. Returns false if nothing ran. */
  kill(zone: Zone): Promise<boolean>;
  /** Returns all log lines. */
  output(): string;
  /** Failures without a kill. */
  problems: string[];
};

export type Progress = { asked: number; killed: number; done: number };

export type RunRequest = {
  plan: Plan;
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
};

/** Rejects when `signal` aborts. None of the `secrets` may be in a log. */
export async function runPlan({
  plan,
  signal,
  onProgress = () => {},
  fakeSlack,
  zones,
  storedRecords,
  secrets,
}: RunRequest & {
  fakeSlack: FakeSlack;
  zones: Zones;
  storedRecords: StoredRecords;
  secrets: Record<string, string> & { SLACK_SIGNING_SECRET: string };
}): Promise<Report> {
  const startedAtMs = Date.now();
  const people = createPeople({
    fakeSlack,
    eventsUrl: zones.eventsUrl,
    signingSecret: secrets.SLACK_SIGNING_SECRET,
    signal,
  });
  const { messages } = people;
  const kills: Record<Zone, number> = { verification: 0, execution: 0 };
  const tell = (done: number) =>
    onProgress({ asked: messages.length, killed: kills.verification + kills.execution, done });
  const kill = async (zone: Zone) => {
    if (await zones.kill(zone)) kills[zone]++;
  };

  // The plan's clock stands still during an act: on a slow machine the plan takes longer, and is the same.
  let planStartMs = startedAtMs;
  for (const { atMs, act } of momentsOf({ plan, people, kill })) {
    await wait(Math.max(0, planStartMs + atMs - Date.now()), undefined, { signal });
    const beganAtMs = Date.now();
    await act();
    planStartMs += Date.now() - beganAtMs;
    tell(0);
  }
  const deliveries = await abortable({ promise: people.delivered(), signal });
  await settle({ messages, storedRecords, signal, onDone: tell });
  await people.leave();

  const all = await gatherEvidence({ messages, fakeSlack, storedRecords });
  const evidence = [...all.values()];
  const output = zones.output();
  const violations = [
    ...evidence.flatMap((each) => violationsOf({ evidence: each, others: all })),
    ...(await gatherLeftovers({ messages, fakeSlack, storedRecords })),
    ...leaksOf({ text: output, secrets: { ...secrets, text: "private" } }),
    ...zones.problems,
  ];
  return {
    tasks: plan.asks.length,
    cancels: messages.length - plan.asks.length,
    kills,
    deliveries: deliveries.reduce((sum, { deliveries }) => sum + deliveries, 0),
    unheard: evidence.filter(isUnheard).length,
    outcomes: countOutcomes(evidence),
    starts: evidence.reduce((sum, { starts }) => sum + starts, 0),
    violations,
    log: logOf({ output, violation: violations[0] }),
    seconds: (Date.now() - startedAtMs) / 1000,
  };
}

/** The most frequent first. */
function countOutcomes(evidence: readonly Evidence[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const each of evidence) {
    if (!isUnheard(each)) counts.set(outcomeOf(each), (counts.get(outcomeOf(each)) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
}

/** Returns the log lines of the message that a violation names. */
function logOf({ output, violation }: { output: string; violation: string | undefined }): string[] {
  const requestId = violation?.split(/[ :]/)[0] ?? "";
  return uuidPattern.test(requestId)
    ? output.split("\n").filter((line) => line.includes(requestId))
    : [];
}

type Moment = { atMs: number; act: () => void | Promise<void> };

/** Returns the moments of a plan in order. */
function momentsOf({
  plan,
  people,
  kill,
}: {
  plan: Plan;
  people: People;
  kill: (zone: Zone) => Promise<void>;
}): Moment[] {
  const moments = plan.asks.flatMap((ask): Moment[] => [
    { atMs: ask.atMs, act: () => people.ask(ask) },
    ...(ask.againAtMs === undefined
      ? []
      : [{ atMs: ask.againAtMs, act: () => people.tellAgain(ask) }]),
    ...(ask.cancelAtMs === undefined
      ? []
      : [{ atMs: ask.cancelAtMs, act: () => people.cancel(ask) }]),
  ]);
  moments.push(...plan.kills.map(({ atMs, zone }) => ({ atMs, act: () => kill(zone) })));
  return moments.sort((a, b) => a.atMs - b.atMs);
}

const lookEveryMs = 250;

/** Resolves when every task is over and no queue holds anything that matters, or when none has ended for `hangMs`. The checks then name what is left. */
async function settle({
  messages,
  storedRecords,
  signal,
  onDone,
}: {
  messages: readonly Message[];
  storedRecords: StoredRecords;
  signal: AbortSignal;
  onDone: (count: number) => void;
}): Promise<void> {
  let endMs = Date.now() + hangMs;
  const end = new Set<string>();
  for (;;) {
    const isQuiet = (await storedRecords.queued()).length === 0;
    const endedCount = end.size;
    for (const { requestId } of messages) {
      if (end.has(requestId)) continue;
      const record = await storedRecords.record(requestId);
      // A message that no delivery brought has no record. It is over when the queues are empty.
      if (record === undefined ? isQuiet : record.state === "done" && record.cleanupDone)
        end.add(requestId);
    }
    if (end.size > endedCount) endMs = Date.now() + hangMs;
    onDone(end.size);
    if ((isQuiet && end.size === messages.length) || Date.now() > endMs) return;
    await wait(lookEveryMs, undefined, { signal });
  }
}

type Gathering = {
  messages: readonly Message[];
  fakeSlack: FakeSlack;
  storedRecords: StoredRecords;
};

/** Resolves to the evidence by request id. */
async function gatherEvidence({
  messages,
  fakeSlack,
  storedRecords,
}: Gathering): Promise<Map<string, Evidence>> {
  const posts = postsOfBot(fakeSlack);
  const entries = storedRecords.agentLog();
  const overlaps = overlapsOf(entries);
  const hostTasks = await storedRecords.hostTasks();
  const starts = entries.filter(({ what }) => what === "start");
  const evidence = messages.map(
    async ({ requestId, kind, delivered, message }): Promise<Evidence> => {
      const { status } = await delivered;
      return {
        requestId,
        kind,
        isTaken: status === 200,
        posts: posts.filter((post) => post.requestId === requestId),
        files:
          kind === "filed"
            ? posts.filter((post) => isOfFiles(post) && post.threadTs === message.ts).length
            : 0,
        starts: starts.filter((entry) => entry.requestId === requestId).length,
        overlaps: overlaps.get(requestId) ?? [],
        record: await storedRecords.record(requestId),
        hostTask: hostTasks.get(requestId),
      };
    },
  );
  return new Map((await Promise.all(evidence)).map((each) => [each.requestId, each]));
}

/** Finds what must not be left in the end: posts, queue messages and places in threads that belong to nothing. */
async function gatherLeftovers({
  messages,
  fakeSlack,
  storedRecords,
}: Gathering): Promise<string[]> {
  const known = new Set(messages.map(({ requestId }) => requestId));
  const filed = new Set(
    messages.filter(({ kind }) => kind === "filed").map(({ message }) => message.ts),
  );
  const strays = postsOfBot(fakeSlack).filter((post) =>
    isOfFiles(post)
      ? !filed.has(post.threadTs ?? "")
      : post.requestId === undefined || !known.has(post.requestId),
  );
  const held = (await storedRecords.threads()).flatMap(({ tasks }) => tasks);
  return [
    ...strays.map(({ ts }) => `The post ${ts} of the bot belongs to no message.`),
    ...(await storedRecords.queued()),
    ...held.map(({ id }) => `${id}: it was left in the record of its thread`),
  ];
}

function postsOfBot(fakeSlack: FakeSlack) {
  const posts = fakeSlack.messages().filter(({ user }) => user === workspace.botUser);
  return posts.map(({ metadata, text, blocks = [], ts, threadTs, files = [] }) => {
    const key = readPostKey(metadataSchema.parse(metadata));
    // Which files are missing stands in a block of its own, and not in the text of notifications.
    const shownText = [text, JSON.stringify(blocks)].join("\n");
    return {
      requestId: key?.requestId,
      kind: key?.kind ?? ("files" as const),
      index: key?.index ?? 0,
      text: shownText,
      ts,
      threadTs,
      files: files.length,
    };
  });
}

/** Slack posts the files of an answer itself, without our metadata. */
function isOfFiles({
  requestId,
  files,
}: {
  requestId: string | undefined;
  files: number;
}): boolean {
  return requestId === undefined && files > 0;
}
