/**
 * Bench of a whole task: both zones as processes of the commands that people start, a signed event, a Slack that answers at once, and the
 * echo agent. Beside it, on request, the zones of another checkout.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { type BareSlack, startBareSlack, type TaskTimes } from "./bare-slack.ts";
import { type BenchRun, rank, takeTurns } from "./bench.ts";
import {
  type BenchRow,
  type BenchTable,
  type Goal,
  noFewer,
  noSlower,
  ratioTable,
} from "./table.ts";
import { startZone, type Zone } from "./zone.ts";

const rounds = 20;
const warmUps = 2;
const tasksAlone = 12;
const underWay = 64;
const tasksTogether = 4 * underWay;
/** What follows the last answer belongs to its task: its record is stored, and its message removed from the queue. */
const settleMs = 200;

const figures = {
  placeholderMs: {
    name: "one at a time: event to placeholder, p50",
    unit: "ms",
    goal: noSlower,
    best: 0.1,
  },
  answerMs: {
    name: "one at a time: event to answer, p50",
    unit: "ms",
    goal: noSlower,
    best: 0.1,
  },
  perSecond: { name: `${underWay} at a time`, unit: "tasks/s", goal: noFewer, best: 0.9 },
  togetherMs: {
    name: `${underWay} at a time: event to answer, p50`,
    unit: "ms",
    goal: noSlower,
    best: 0.1,
  },
  verificationMs: {
    name: `${underWay} at a time: processor time of the Verification zone for one`,
    unit: "ms",
    goal: noSlower,
    best: 0.1,
  },
  executionMs: {
    name: `${underWay} at a time: processor time of the Execution zone for one`,
    unit: "ms",
    goal: noSlower,
    best: 0.1,
  },
} as const satisfies Record<string, { name: string; unit: string; goal: Goal; best: number }>;
type Figure = keyof typeof figures;

/** The best decile of short rounds that take turns, so that both meet the same machine. */
export async function benchTask(run: BenchRun): Promise<BenchTable[]> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bench-"));
  const roots = [
    join(import.meta.dirname, "../../.."),
    ...(run.beside === undefined ? [] : [run.beside]),
  ];
  const sides: Side[] = [];
  try {
    for (const [index, root] of roots.entries()) {
      sides.push(await openSide({ root, folder: join(folder, `${index}`), note: run.note }));
    }
    const turns = sides.flatMap((side) => [alone(side), together(side)]);
    await takeTurns({ run, usual: rounds, warmUps, turns });
    const [ours, other] = sides;
    const rows = Object.entries(figures).map(([key, { name, unit, goal, best }]): BenchRow => {
      const figure = key as Figure;
      const bestOf = (side: Side | undefined) => rank(side?.seen[figure] ?? [], best);
      const row = { name, unit, ours: bestOf(ours) };
      return other === undefined ? row : { ...row, baseline: bestOf(other), goal };
    });
    return [
      ratioTable({
        name: "task",
        baseline: run.beside === undefined ? "" : commitOf(run.beside),
        rows,
      }),
    ];
  } finally {
    for (const side of sides) await side.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a table calls the checkout. */
export function commitOf(root: string): string {
  return execFileSync("git", ["-C", root, "rev-parse", "--short=8", "HEAD"], {
    encoding: "utf8",
  }).trim();
}

type Side = {
  seen: Record<Figure, number[]>;
  /** One task from its event to its answer. Undefined if it had none in time, which makes its round count for nothing. */
  ask(): Promise<TaskTimes | undefined>;
  note: BenchRun["note"];
  verification: Pick<Zone, "processorMs">;
  execution: Pick<Zone, "processorMs">;
  close(): Promise<void>;
};

export function alone({ seen, ask, note }: Pick<Side, "seen" | "ask" | "note">) {
  return async (isCounted: boolean) => {
    const tasks: TaskTimes[] = [];
    for (let count = 0; count < tasksAlone; count += 1) tasks.push(...toList(await ask()));
    // The steps of these tasks after their answers must not weigh on another turn.
    await wait(settleMs);
    if (!isComplete({ tasks, asked: tasksAlone, note }) || !isCounted) return;
    seen.placeholderMs.push(median(tasks.map(({ placeholderMs }) => placeholderMs)));
    seen.answerMs.push(median(tasks.map(({ answerMs }) => answerMs)));
  };
}

function isComplete({
  tasks,
  asked,
  note,
}: {
  tasks: readonly TaskTimes[];
  asked: number;
  note: Side["note"];
}): boolean {
  const unanswered = asked - tasks.length;
  if (unanswered > 0)
    note(`${unanswered} of ${asked} tasks had no answer in time, so their round does not count.`);
  return unanswered === 0;
}

function toList<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

export function together({ seen, ask, note, verification, execution }: Omit<Side, "close">) {
  return async (isCounted: boolean) => {
    const usedBefore = [await verification.processorMs(), await execution.processorMs()] as const;
    const startMs = performance.now();
    const tasks: TaskTimes[] = [];
    let left = tasksTogether;
    const person = async () => {
      while (left-- > 0) tasks.push(...toList(await ask()));
    };
    await Promise.all(Array.from({ length: underWay }, person));
    const seconds = (performance.now() - startMs) / 1000;
    await wait(settleMs);
    const usedNames = [await verification.processorMs(), await execution.processorMs()] as const;
    if (!isComplete({ tasks, asked: tasksTogether, note }) || !isCounted) return;
    seen.perSecond.push(tasksTogether / seconds);
    seen.togetherMs.push(median(tasks.map(({ answerMs }) => answerMs)));
    seen.verificationMs.push((usedNames[0] - usedBefore[0]) / tasksTogether);
    seen.executionMs.push((usedNames[1] - usedBefore[1]) / tasksTogether);
  };
}

function median(values: readonly number[]): number {
  return rank(values, 0.5);
}

type SideSettings = { root: string; folder: string; note: BenchRun["note"] };

async function openSide({ root, folder, note }: SideSettings): Promise<Side> {
  const slack = await startBareSlack();
  const zones: Zone[] = [];
  const close = async () => {
    for (const zone of zones.reverse()) await zone.stop();
    slack.close();
  };
  const start = async (zone: "verification" | "execution", env: Record<string, string>) => {
    const started = await startZone({ root, args: [zone, "--port", "0"], folder, env });
    zones.push(started);
    return started;
  };
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(createConfig(slack)));
    const execution = await start("execution", {});
    const env = {
      SEKISHO_EXECUTION_PORT: new URL(execution.url).port,
      ...slack.env,
    };
    const verification = await start("verification", env);
    const seen = {
      placeholderMs: [],
      answerMs: [],
      perSecond: [],
      togetherMs: [],
      verificationMs: [],
      executionMs: [],
    };
    const { origin } = new URL(verification.url);
    const ask = () => slack.ask({ origin, text: "hello", words: "I'm the echo agent." });
    return { seen, note, ask, verification, execution, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function createConfig({ apiUrl }: BareSlack): object {
  return {
    slack: { apiUrl },
    allowlist: [{ team: workspace.team }],
    destinations: { local: { transport: "https" } },
    routes: [{ destination: "local" }],
  };
}
