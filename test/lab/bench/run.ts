/** `npm run bench`: runs the benches one after the other, each in a process of its own, and prints or writes their tables. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { benches } from "./bench.ts";
import type { FromBench } from "./children/bench.ts";
import { type BenchTable, formatTable, writeTables } from "./table.ts";

const names = Object.keys(benches);
const pageFile = join(import.meta.dirname, "../../../docs/explanation/bench.md");

const usage = `Usage: npm run bench -- [--write] [--beside DIR] [--only NAME]... [--quick]

Measures the parts of Sekisho, each beside a baseline in the same run, and prints tables. Nothing is asserted.
All of it takes six to twelve minutes. Leave the machine alone meanwhile.

  --write        also writes the tables into docs/explanation/bench.md, and leaves its prose alone
  --beside DIR   another checkout of this project, with its packages installed: measures whole tasks, answers that
                 are written, and cold starts of both in turns
  --only NAME    only this one (may be repeated): ${names.join(", ")}
  --quick        a sixth of the rounds, to see that it works: the figures say little
  --help         this text

Exit code: 0 all was measured, 1 something failed, 2 bad usage, 130 interrupted.
`;

const progressMs = 5000;
const stopTimeoutMs = 15_000;

type Options = { write: boolean; beside?: string; only: string[]; quick: boolean; help: boolean };

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const about = describeRun(options);
  process.stdout.write(`${about}\n`);
  const tables: BenchTable[] = [];
  let failed = false;
  for (const name of names) {
    if (options.only.length > 0 && !options.only.includes(name)) continue;
    const measured = await runBench({ name, options, signal: stop.signal });
    if (stop.signal.aborted) return 130;
    failed ||= measured === undefined;
    for (const table of measured ?? []) {
      tables.push(table);
      process.stdout.write(`\n${table.name}\n\n${formatTable(table)}`);
    }
  }
  if (options.write) {
    writeFileSync(pageFile, writeTables({ page: readFileSync(pageFile, "utf8"), tables, about }));
    process.stdout.write(
      `\nWritten to docs/explanation/bench.md: ${tables.map(({ name }) => name).join(", ")}.\n`,
    );
  }
  return failed ? 1 : 0;
}

function readOptions(args: string[]): Options | undefined {
  try {
    const flag = { type: "boolean", default: false } as const;
    const { values } = parseArgs({
      args,
      options: {
        ...{ write: flag, quick: flag, help: flag },
        beside: { type: "string" },
        only: { type: "string", multiple: true, default: [] },
      },
    });
    const unknown = values.only.filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`There is no bench ${unknown.join(", ")}.`);
    const { beside, ...others } = values;
    if (beside === undefined) return others;
    const isCheckout = statSync(join(beside, "bin/sekisho.mjs"), {
      throwIfNoEntry: false,
    })?.isFile();
    if (!isCheckout) throw new Error(`${beside} is not a checkout of this project.`);
    return { ...others, beside: resolve(beside) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}`);
    return undefined;
  }
}

function describeRun({ quick }: Options): string {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `Node ${process.versions.node}, ${process.platform} ${process.arch}, ${availableParallelism()} cores`;
  return `${machine}, ${date}${quick ? ", a quick run" : ""}.`;
}

/** Undefined if it failed. An aborted one ends its servers and removes its files first. */
async function runBench(request: {
  name: string;
  options: Options;
  signal: AbortSignal;
}): Promise<BenchTable[] | undefined> {
  const { name, options, signal } = request;
  const { quick, beside } = options;
  const say = (text: string) => process.stderr.write(`${name}: ${text}\n`);
  const child = fork(
    join(import.meta.dirname, "children/bench.ts"),
    [name, JSON.stringify({ quick, beside })],
    {
      // Ctrl-C must not reach it, because it is stopped here.
      detached: true,
    },
  );
  let tables: BenchTable[] | undefined;
  let saidAtMs = 0;
  child.on("message", (message: FromBench) => {
    if (message.type === "tables") tables = message.tables;
    if (message.type === "note") say(message.text);
    if (message.type === "round" && performance.now() - saidAtMs > progressMs) {
      saidAtMs = performance.now();
      say(`round ${message.round} of ${message.of}`);
    }
  });
  const exit = once(child, "exit");
  let cut: NodeJS.Timeout | undefined;
  const stop = () => {
    if (child.connected) child.disconnect();
    cut = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  await exit;
  clearTimeout(cut);
  signal.removeEventListener("abort", stop);
  if (tables === undefined && !signal.aborted) say("failed");
  return tables;
}
