/** One run: people ask, zones are killed, and in the end everything that was promised is looked up. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type SlackStandIn, startSlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { type Books, openBooks } from "./books.ts";
import { isAnswer, isUnheard, leaksOf, violationsOf } from "./checks.ts";
import { gatherEvidence, gatherLeftovers } from "./gather.ts";
import { momentsOf } from "./moments.ts";
import { createPeople, retryDelaysMs } from "./people.ts";
import type { Plan, Zone } from "./plan.ts";
import type { Report } from "./report.ts";
import { settle } from "./settle.ts";
import { secrets, startZones, type Zones } from "./zones.ts";

export type Progress = { asked: number; killed: number; done: number };

type Request = { plan: Plan; signal: AbortSignal; onProgress?: (progress: Progress) => void };
type Running = { standIn: SlackStandIn; zones: Zones; books: Books };

/** From the last moment of the plan until everything has ended, or never will. */
const patienceMs = 60_000;

/** When `signal` aborts, the processes are ended, and it rejects. */
export async function runStory(request: Request): Promise<Report> {
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

async function run({ plan, signal, onProgress = () => {}, ...running }: Request & Running): Promise<Report> {
  const { standIn, zones, books } = running;
  const startedAtMs = Date.now();
  const people = createPeople({ standIn, eventsUrl: zones.eventsUrl, signal });
  const { messages } = people;
  const kills: Record<Zone, number> = { verification: 0, execution: 0 };
  const tell = (done: number) =>
    onProgress({ asked: messages.length, killed: kills.verification + kills.execution, done });
  const kill = (zone: Zone) => {
    kills[zone]++;
    return zones.kill(zone);
  };

  for (const { atMs, act } of momentsOf({ plan, people, kill })) {
    await wait(Math.max(0, startedAtMs + atMs - Date.now()), undefined, { signal });
    await act();
    tell(0);
  }
  const deliveries = await people.delivered();
  await settle({ messages, books, patienceMs, signal, onDone: tell });

  const all = await gatherEvidence({ messages, standIn, books });
  const evidence = [...all.values()];
  const output = zones.output();
  const violations = [
    ...evidence.flatMap((each) => violationsOf({ evidence: each, others: all })),
    ...(await gatherLeftovers({ messages, standIn, books })),
    ...leaksOf({ text: output, secrets: { ...secrets, text: "private" } }),
    ...zones.problems,
  ];
  return {
    tasks: plan.asks.length,
    cancels: messages.length - plan.asks.length,
    kills,
    deliveries: deliveries.reduce((sum, { deliveries }) => sum + deliveries, 0),
    unheard: evidence.filter(isUnheard).length,
    answers: evidence.filter(isAnswer).length,
    starts: evidence.reduce((sum, { starts }) => sum + starts, 0),
    violations,
    log: logOf({ output, violation: violations[0] }),
    seconds: (Date.now() - startedAtMs) / 1000,
  };
}

/** What was logged of the message that a violation names. */
function logOf({ output, violation }: { output: string; violation: string | undefined }): string[] {
  const requestId = violation?.split(/[ :]/)[0] ?? "";
  return uuidPattern.test(requestId) ? output.split("\n").filter((line) => line.includes(requestId)) : [];
}
