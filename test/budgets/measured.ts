/** Measures what `test/budgets.json` bounds. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** Figures by name. `kilobytes` are of allocations, all others exact. */
export type Figures = { [name: string]: number | Figures };

const root = join(import.meta.dirname, "../..");

/**
 * Code that V8 optimizes at one moment or another allocates other amounts, so nothing is optimized. A collection while a sample is taken
 * would hide what was allocated, so there is room for all of it.
 */
const flags = [
  "--expose-gc",
  "--min-semi-space-size=256",
  "--max-semi-space-size=256",
  "--no-opt",
  "--no-maglev",
];

export async function measureFigures(): Promise<Figures> {
  const [operations, tasks] = [await measure("operations"), await measure("tasks")];
  return { operations, tasks, source: measureSource() };
}

async function measure(part: "operations" | "tasks"): Promise<Figures> {
  const file = join(import.meta.dirname, "children/measure.ts");
  // The debugger's port or a preloaded module of the parent would change the counts.
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file, part], {
    cwd: root,
    env,
  });
  return JSON.parse(stdout);
}

const codeFolders = ["bin", "contracts", "lambdas", "lib"];

/** Kilobytes of TypeScript. Comments, blank lines and indentation do not count, so that no reformatting changes them. */
function measureSource(): Figures {
  const kilobytes = (folders: readonly string[]) =>
    Math.ceil(folders.map(countBytes).reduce((a, b) => a + b) / 1000);
  return { code: kilobytes(codeFolders), tests: kilobytes(["test"]) };
}

function countBytes(folder: string): number {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return paths
    .filter((path) => path.endsWith(".ts") && !/(^|\/)(node_modules|generated)\//.test(path))
    .flatMap((path) => readFileSync(join(root, folder, path), "utf8").split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^(\/\/|\/\*|\*)/.test(line))
    .reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
}
