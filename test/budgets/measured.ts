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
const flags = ["--expose-gc", "--min-semi-space-size=256", "--max-semi-space-size=256", "--no-opt", "--no-maglev"];

export async function measureFigures(): Promise<Figures> {
  const [operations, tasks] = [await measure("operations"), await measure("tasks")];
  return { operations, tasks, source: measureSource() };
}

async function measure(part: "operations" | "tasks"): Promise<Figures> {
  const file = join(import.meta.dirname, "children/measure.ts");
  // The debugger's port or a preloaded module of the parent would change the counts.
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file, part], { cwd: root, env });
  return JSON.parse(stdout);
}

const codeFolders = ["bin", "contracts", "lambdas", "lib"];

function measureSource(): Figures {
  const kilobytes = (folders: readonly string[]) => Math.ceil(folders.map(countBytes).reduce((a, b) => a + b) / 1000);
  return { code: kilobytes(codeFolders), tests: kilobytes(["test"]) };
}

function countBytes(folder: string): number {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && /\.(?:[cm]?[jt]s|tsx|css|html)$/.test(entry.name));
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return paths
    .filter((path) => !path.includes("/node_modules/"))
    .reduce((sum, path) => sum + readFileSync(path).byteLength, 0);
}
