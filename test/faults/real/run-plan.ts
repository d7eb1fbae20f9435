/** A plan, carried out: people ask, zones are killed, and in the end everything that was promised is looked up. */

import { setTimeout as wait } from "node:timers/promises";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { abortable } from "../../../lambdas/shared/async/waiting.ts";
import type { FakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import type { Books } from "./books.ts";
import { type Evidence, isUnheard, leaksOf, outcomeOf, violationsOf } from "./checks.ts";
import { gatherEvidence, gatherLeftovers } from "./gather.ts";
import { momentsOf } from "./moments.ts";
import { createPeople } from "./people.ts";
import type { Plan, Zone } from "./plan.ts";
import type { Report } from "./report.ts";
import { settle } from "./settle.ts";

/** Both zones, wherever they run. */
export type Zones = {
  eventsUrl: string;
  /** Ends what runs without a warning; something new takes its place. False where nothing ran. */
  kill(zone: Zone): Promise<boolean>;
  /** Everything that was logged. */
  output(): string;
  /** What went wrong by itself, as readable lines. */
  problems: string[];
  close(): Promise<void>;
};

export type Progress = { asked: number; killed: number; done: number };

export type RunRequest = { plan: Plan; signal: AbortSignal; onProgress?: (progress: Progress) => void };

/** Rejects when `signal` aborts. `secrets` are to be in no log. */
export async function runPlan({
  plan,
  signal,
  onProgress = () => {},
  fakeSlack,
  zones,
  books,
  secrets,
  patienceMs = 60_000,
}: RunRequest & {
  fakeSlack: FakeSlack;
  zones: Zones;
  books: Books;
  /** From the last moment of the plan until everything has ended, or never will. */
  patienceMs?: number;
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

  for (const { atMs, act } of momentsOf({ plan, people, kill })) {
    await wait(Math.max(0, startedAtMs + atMs - Date.now()), undefined, { signal });
    await act();
    tell(0);
  }
  const deliveries = await abortable({ promise: people.delivered(), signal });
  await settle({ messages, books, patienceMs, signal, onDone: tell });
  await people.leave();

  const all = await gatherEvidence({ messages, fakeSlack, books });
  const evidence = [...all.values()];
  const output = zones.output();
  const violations = [
    ...evidence.flatMap((each) => violationsOf({ evidence: each, others: all })),
    ...(await gatherLeftovers({ messages, fakeSlack, books })),
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

/** What was logged of the message that a violation names. */
function logOf({ output, violation }: { output: string; violation: string | undefined }): string[] {
  const requestId = violation?.split(/[ :]/)[0] ?? "";
  return uuidPattern.test(requestId) ? output.split("\n").filter((line) => line.includes(requestId)) : [];
}
