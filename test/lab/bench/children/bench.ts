/** One bench in a process of its own, so that it does not inherit the memory of the benches before it. */
import { type BenchRun, benches } from "../bench.ts";
import type { BenchTable } from "../table.ts";

/** A message of this process to its parent. */
export type FromBench =
  | { type: "round"; round: number; of: number }
  | { type: "note"; text: string }
  | { type: "tables"; tables: BenchTable[] };

const [, , name = "", settings = "{}"] = process.argv;
const { quick, beside } = JSON.parse(settings) as { quick: boolean; beside?: string };

// A parent that is gone must not end the process before it has cleaned up.
const tell = (message: FromBench) => void process.send?.(message, undefined, undefined, () => {});
let isInterrupted = false;
// The parent disconnects to interrupt, and its death does the same. The bench ends its servers, and removes its files.
process.once("disconnect", () => {
  isInterrupted = true;
});
// Keeps the channel to the parent open for that.
process.on("message", () => {});

const run: BenchRun = {
  rounds: (usual) => (quick ? Math.ceil(usual / 6) : usual),
  beforeRound(round) {
    if (isInterrupted) throw new Error("interrupted");
    tell({ type: "round", ...round });
  },
  beside,
  note: (text) => tell({ type: "note", text }),
};

try {
  const bench = await benches[name]?.();
  if (bench === undefined) throw new Error(`There is no bench ${name}.`);
  tell({ type: "tables", tables: await bench(run) });
} catch (error) {
  if (!isInterrupted) process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
}
if (process.connected) process.disconnect();
