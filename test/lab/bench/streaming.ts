/**
 * Bench of an answer that is shown while it is written: both zones as `sekisho start` runs them with the shipped configuration, a Slack that
 * answers at once, and an agent that writes a token every 50 ms. Each token is the time at which it was written, so that each piece in
 * Slack tells its own age. Beside it, on request, the same of another checkout.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { type BareSlack, type CallOfThread, startBareSlack } from "./bare-slack.ts";
import { type BenchRun, takeTurns } from "./bench.ts";
import { type BenchTable, formatFigure, formatGoal, type Goal } from "./table.ts";
import { commitOf } from "./task.ts";
import { startZone, type Zone } from "./zone.ts";

const rounds = 4;

/** The agent waits `thinkMs`, and then writes for `writeMs`. */
type Scenario = { thinkMs: number; writeMs: number; together: number };
const atOnce: Scenario = { thinkMs: 0, writeMs: 8000, together: 1 };
const afterThought: Scenario = { thinkMs: 9000, writeMs: 4000, together: 1 };
const together: Scenario = { thinkMs: 0, writeMs: 65_000, together: 8 };

const agentFile = `
import { setTimeout as wait } from "node:timers/promises";
export async function* agent({ text }) {
  const [, thinkMs, writeMs] = /think (\\d+) write (\\d+)/.exec(text);
  await wait(Number(thinkMs));
  let partial = "";
  const endMs = Date.now() + Number(writeMs);
  while (Date.now() < endMs) {
    partial += Date.now().toString(36) + " ";
    yield { type: "progress", partial };
    await wait(50);
  }
  yield { type: "answer", text: partial + "That is all." };
}
`;

/** The worst that was seen of each counts, because one long pause is what a reader notices. */
const figures = {
  firstMs: {
    name: "an agent that writes at once: first token to first text",
    unit: "ms",
    goal: { atMost: 1000 },
  },
  pauseMs: { name: "longest pause", unit: "ms", goal: { atMost: 1500 } },
  ageMs: { name: "oldest token of a new piece", unit: "ms" },
  thoughtFirstMs: {
    name: "an agent that thinks for 9 s: first token to first text",
    unit: "ms",
    goal: { atMost: 1000 },
  },
  thoughtPauseMs: { name: "longest pause", unit: "ms", goal: { atMost: 1500 } },
  togetherPauseMs: { name: `${together.together} at once: longest pause`, unit: "ms" },
  togetherPerMinute: {
    name: "appends a minute (Slack takes 100)",
    unit: "calls",
    goal: { atMost: 100 },
  },
} as const satisfies Record<string, { name: string; unit: string; goal?: Goal }>;
type Figure = keyof typeof figures;

export async function benchStreaming(run: BenchRun): Promise<BenchTable[]> {
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
    await takeTurns({ run, usual: rounds, turns: sides.map((side) => () => measureAlone(side)) });
    await takeTurns({ run, usual: 1, turns: sides.map((side) => () => measureTogether(side)) });
    const heads = [
      "ours",
      ...(run.beside === undefined ? [] : [commitOf(run.beside), "ratio"]),
      "goal",
    ];
    return [
      {
        name: "streaming",
        cells: [["", ...heads], ...Object.keys(figures).map((key) => toRow(key as Figure, sides))],
      },
    ];
  } finally {
    for (const side of sides) await side.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function toRow(figure: Figure, sides: readonly Side[]): string[] {
  const { name, unit, goal }: { name: string; unit: string; goal?: Goal } = figures[figure];
  const [ours = Number.NaN, other] = sides.map(({ worst }) => worst[figure]);
  const beside = other === undefined ? [] : [formatFigure(other), (ours / other).toFixed(2)];
  return [`${name}, ${unit}`, formatFigure(ours), ...beside, formatGoal({ value: ours, goal })];
}

function note({ worst }: Side, figure: Figure, value: number): void {
  worst[figure] = Math.max(worst[figure] ?? 0, value);
}

async function measureAlone(side: Side): Promise<void> {
  const quick = await side.ask(atOnce);
  if (quick !== undefined) {
    note(side, "firstMs", firstMs(quick));
    note(side, "pauseMs", longestPauseMs(quick));
    note(side, "ageMs", Math.max(...quick.slice(1).map(({ atMs, oldest }) => atMs - oldest)));
  }
  const slow = await side.ask(afterThought);
  if (slow === undefined) return;
  note(side, "thoughtFirstMs", firstMs(slow));
  note(side, "thoughtPauseMs", longestPauseMs(slow));
}

/** The calls of the busiest minute count. */
async function measureTogether(side: Side): Promise<void> {
  const asked = await Promise.all(
    Array.from({ length: together.together }, () => side.ask(together)),
  );
  const many = asked.filter((pieces) => pieces !== undefined);
  if (many.length < asked.length) return;
  note(side, "togetherPauseMs", Math.max(...many.map(longestPauseMs)));
  const appends = many.flat().filter(({ method }) => method === "chat.appendStream");
  const inMinute = appends.map(({ atMs }) =>
    appends.filter((each) => each.atMs >= atMs && each.atMs < atMs + 60_000),
  );
  note(side, "togetherPerMinute", Math.max(...inMinute.map(({ length }) => length)));
}

/** New text in the thread. `oldest` is the time of its first token. */
type Piece = { method: string; atMs: number; oldest: number };

function firstMs([first]: readonly Piece[]): number {
  return first === undefined ? Number.NaN : first.atMs - first.oldest;
}

/** The last piece is the answer itself, which comes when the agent has ended. */
function longestPauseMs(pieces: readonly Piece[]): number {
  return Math.max(
    ...pieces.slice(1).map(({ atMs }, index) => atMs - (pieces[index]?.atMs ?? Number.NaN)),
  );
}

type Side = {
  worst: Partial<Record<Figure, number>>;
  /** Resolves to what came into the thread, when the answer is there. Undefined if it did not come in time. */
  ask(scenario: Scenario): Promise<Piece[] | undefined>;
  close(): Promise<void>;
};

type SideSettings = { root: string; folder: string; note: BenchRun["note"] };

async function openSide({ root, folder, note }: SideSettings): Promise<Side> {
  const slack = await startBareSlack();
  let zones: Zone | undefined;
  const close = async () => {
    await zones?.stop();
    slack.close();
  };
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, "agent.mjs"), agentFile);
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(createConfig(root, slack)));
    const env = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0", ...slack.env };
    zones = await startZone({ root, args: ["start"], folder, env });
    const { origin } = new URL(zones.url);
    return { worst: {}, ask: createAsk({ slack, origin, note }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The configuration that is shipped, with this agent and this Slack. */
function createConfig(root: string, { apiUrl }: BareSlack): object {
  const { $schema: _schema, ...shipped } = JSON.parse(
    readFileSync(join(root, "sekisho.config.json"), "utf8"),
  );
  const execution = { ...shipped.execution, agent: "./agent.mjs" };
  return { ...shipped, slack: { apiUrl }, allowlist: [{ team: workspace.team }], execution };
}

/** The times that are in the text. They are short, because 12,000 characters of an answer are told while it is written. */
function tokensIn(text: string): number[] {
  const nowMs = Date.now();
  return [...text.matchAll(/\b[0-9a-z]{8}\b/g)]
    .map(([token]) => Number.parseInt(token, 36))
    .filter((atMs) => atMs <= nowMs && atMs > nowMs - 3600_000);
}

function createAsk(options: {
  slack: BareSlack;
  origin: string;
  note: BenchRun["note"];
}): Side["ask"] {
  const { slack, origin } = options;
  return async ({ thinkMs, writeMs }) => {
    const pieces: Piece[] = [];
    let newest = 0;
    const onCall = ({ method, args }: CallOfThread) => {
      const tokens = tokensIn(`${args.get("markdown_text") ?? ""} ${args.get("text") ?? ""}`);
      const [oldest] = tokens.filter((token) => token > newest);
      if (oldest === undefined) return;
      pieces.push({ method, atMs: Date.now(), oldest });
      newest = Math.max(...tokens);
    };
    const text = `think ${thinkMs} write ${writeMs}`;
    if ((await slack.ask({ origin, text, words: "That is all.", onCall })) !== undefined)
      return pieces;
    options.note("An answer did not come in time, so it does not count.");
    return undefined;
  };
}
