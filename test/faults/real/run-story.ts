/** One run: people ask, zones are killed, and in the end everything that was promised is looked up. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type SlackStandIn, startSlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { type Books, openBooks } from "./books.ts";
import { isAnswer, leaksOf, leftoversOf, violationsOf } from "./checks.ts";
import { gather } from "./gather.ts";
import { createPeople, type People, retryDelaysMs } from "./people.ts";
import type { Plan } from "./plan.ts";
import type { Report } from "./report.ts";
import { secrets, startZones, type Zones } from "./zones.ts";

export type Progress = { asked: number; killed: number; done: number };

/** From the last event of the plan until everything has ended, or never will. */
const patienceMs = 60_000;
const lookEveryMs = 250;

/** When `signal` aborts, the processes are ended, and it rejects. */
export async function runStory(request: {
  plan: Plan;
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
}): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-faults-"));
  const opened: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const standIn = await startSlackStandIn({
      signingSecret: secrets.SLACK_SIGNING_SECRET,
      botToken: secrets.SLACK_BOT_TOKEN,
      retryDelaysMs,
    });
    opened.push(standIn.close);
    const zones = await startZones({ folder, slackApiUrl: standIn.apiUrl });
    opened.push(zones.close);
    const books = openBooks({ folder });
    opened.push(books.close);
    return await run({ ...request, standIn, zones, books });
  } finally {
    for (const close of opened.reverse()) await close();
  }
}

async function run({
  plan,
  signal,
  onProgress = () => {},
  standIn,
  zones,
  books,
}: Parameters<typeof runStory>[0] & { standIn: SlackStandIn; zones: Zones; books: Books }): Promise<Report> {
  const startedAtMs = Date.now();
  const people = createPeople({ standIn, eventsUrl: zones.eventsUrl, signal });
  let killed = 0;
  const done = new Set<string>();
  const tell = () => onProgress({ asked: people.messages.length, killed, done: done.size });

  for (const { atMs, act } of momentsOf({ plan, people, kill: zones.kill, onKill: () => killed++ })) {
    await wait(Math.max(0, startedAtMs + atMs - Date.now()), undefined, { signal });
    await act();
    tell();
  }
  const deliveries = await people.delivered();
  const endMs = Date.now() + patienceMs;
  for (;;) {
    for (const { requestId } of people.messages)
      if (!done.has(requestId) && (await books.record(requestId))?.state === "done") done.add(requestId);
    tell();
    if (done.size === people.messages.length || Date.now() > endMs) break;
    await wait(lookEveryMs, undefined, { signal });
  }

  const { evidence, strays } = await gather({ messages: people.messages, standIn, books });
  const records = new Map(evidence.map(({ requestId, record }) => [requestId, record]));
  const output = zones.output();
  const violations = [
    ...evidence.flatMap(violationsOf),
    ...strays,
    ...leftoversOf({ queued: books.queued(), recordOf: (requestId) => records.get(requestId) }),
    ...leaksOf({ text: output, secrets: { ...secrets, text: "private" } }),
    ...zones.problems,
  ];
  return {
    tasks: people.messages.length,
    kills: killed,
    deliveries: deliveries.reduce((sum, { deliveries }) => sum + deliveries, 0),
    answers: evidence.filter(isAnswer).length,
    starts: books.starts().length,
    violations,
    log: logOf({ output, violation: violations[0] }),
    seconds: (Date.now() - startedAtMs) / 1000,
  };
}

type Moment = { atMs: number; act: () => void | Promise<void> };

function momentsOf({
  plan,
  people,
  kill,
  onKill,
}: {
  plan: Plan;
  people: People;
  kill: Zones["kill"];
  onKill: () => void;
}): Moment[] {
  const asks = plan.asks.flatMap((ask): Moment[] => [
    { atMs: ask.atMs, act: () => people.ask(ask) },
    ...(ask.againAtMs === undefined ? [] : [{ atMs: ask.againAtMs, act: () => people.tellAgain(ask) }]),
  ]);
  const kills = plan.kills.map(
    ({ atMs, zone }): Moment => ({
      atMs,
      async act() {
        onKill();
        await kill(zone);
      },
    }),
  );
  return [...asks, ...kills].sort((a, b) => a.atMs - b.atMs);
}

/** What was logged of the message that a violation names. */
function logOf({ output, violation }: { output: string; violation: string | undefined }): string[] {
  const requestId = violation?.split(/[ :]/)[0] ?? "";
  return uuidPattern.test(requestId) ? output.split("\n").filter((line) => line.includes(requestId)) : [];
}
