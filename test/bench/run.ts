/** `npm run bench`: runs the benches one after the other and prints each row as a ratio to its baseline of the same run. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import type { BenchRow } from "./bench-row.ts";

/** Loaded when it is their turn, so that one bench's modules do not weigh on another. */
const benches: Record<string, () => Promise<BenchRow[]>> = {
  contract: async () => (await import("./contract.ts")).benchContract(),
  transport: async () => (await import("./transport.ts")).benchTransport(),
  a2a: async () => (await import("./a2a.ts")).benchA2a(),
  slack: async () => (await import("./slack.ts")).benchSlack(),
  ingress: async () => (await import("./ingress.ts")).benchIngress(),
  engine: async () => (await import("./engine.ts")).benchEngine(),
};
const names = Object.keys(benches);

const usage = `Usage: npm run bench -- [--only NAME]...

Measures the parts of Sekisho, each beside a bare baseline in the same run. Nothing is asserted.

  --only NAME   only this one (may be repeated): ${names.join(", ")}
  --help        this text
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  const unknown = options?.only.filter((name) => !names.includes(name)) ?? [];
  if (options === undefined || unknown.length > 0) {
    if (unknown.length > 0) process.stderr.write(`There is no bench ${unknown.join(", ")}.\n`);
    process.stderr.write(usage);
    return 2;
  }
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  process.stdout.write(
    `Node ${process.versions.node}, ${process.platform} ${process.arch}, ${availableParallelism()} cores\n`,
  );
  for (const [name, bench] of Object.entries(benches)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue;
    process.stdout.write(`\n${name}\n${table(await bench())}`);
  }
  return 0;
}

function readOptions(args: string[]): { help: boolean; only: string[] } | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: { help: { type: "boolean", default: false }, only: { type: "string", multiple: true, default: [] } },
    });
    return values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return undefined;
  }
}

function table(rows: readonly BenchRow[]): string {
  const cells = [
    ["", "ours", "baseline", "unit", "ratio", ""],
    ...rows.map(({ name, ours, baseline, unit, ratio, note = "" }) => {
      return [name, figure(ours), figure(baseline), unit, ratio.toFixed(2), note];
    }),
  ];
  const widthOf = (column: number) => Math.max(...cells.map((row) => row[column]?.length ?? 0));
  const isNumber = (column: number) => column === 1 || column === 2 || column === 4;
  const lines = cells.map((row) =>
    row.map((cell, column) => (isNumber(column) ? cell.padStart(widthOf(column)) : cell.padEnd(widthOf(column)))),
  );
  return lines.map((cellsOfLine) => `  ${cellsOfLine.join("  ").trimEnd()}\n`).join("");
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
