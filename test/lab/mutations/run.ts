/** Makes random mutations of the product, one at a time, and lists those that no test notices (README.md). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drawMutations, type Mutation } from "./operators.ts";
import { compiles, failuresOf, findFailure } from "./stages.ts";
import { copyTree, diffOf, filesOf } from "./tree.ts";

const root = join(import.meta.dirname, "../../..");

function options(): Record<"seed" | "count" | "first", number> & { wide: boolean } {
  const number = { type: "string" } as const;
  const wide = { type: "boolean", default: false } as const;
  const { values } = parseArgs({ options: { seed: number, count: number, first: number, wide } });
  const { seed = "1", count = "40", first = "1" } = values;
  for (const [name, text] of Object.entries({ seed, count, first })) {
    if (!/^[1-9]\d{0,8}$/.test(text))
      throw new Error(`--${name} is a whole number above 0, not "${text}".`);
  }
  return { seed: Number(seed), count: Number(count), first: Number(first), wide: values.wide };
}

const { seed, count, first, wide } = options();
const sources = filesOf(root)
  .filter((file) => /^(lambdas|contracts)\/(?!generated\/|released\/).+\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
const mutations = drawMutations({ sources, seed, first, count });
const tree = copyTree(root);
const survivors: string[] = [];
let tried = 0;
const foundBy = new Map<string, number>();
const finders = new Set<string>();
const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort());
const unchanged = { folder: tree.folder, signal: interrupt.signal };

// What does not compile anyway says nothing about a mutation.
if (!(await compiles(unchanged)) && !interrupt.signal.aborted) {
  tree.remove();
  throw new Error("The sources do not compile. Run npm run types.");
}

for (const [index, mutation] of mutations.entries()) {
  if (interrupt.signal.aborted) break;
  await tryOne(first + index, mutation);
}
const isWhole = !interrupt.signal.aborted;
const broken = isWhole ? await failuresOf(unchanged, [...finders]) : undefined;
tree.remove();
const counts = [...foundBy].map(([stage, found]) => `${stage} ${found}`).join(", ");
process.stdout.write(
  `\n${survivors.length} survivors of ${tried} mutations with seed ${seed}; found: ${counts || "none"}\n\n`,
);
process.stdout.write(survivors.map((survivor) => `${survivor}\n\n`).join(""));
if (broken !== undefined)
  process.stdout.write(
    `These tests fail without a mutation, so what they found counts for nothing: ${broken}\n`,
  );
process.exitCode = survivors.length > 0 || broken !== undefined ? 1 : 0;

async function tryOne(number: number, mutation: Mutation): Promise<void> {
  tree.apply(mutation);
  const failure = await findFailure({
    ...unchanged,
    file: mutation.file,
    isWide: wide,
  });
  tree.restore(mutation);
  if (interrupt.signal.aborted) return;
  tried += 1;
  const diff = diffOf(root, mutation);
  if (failure === undefined) survivors.push(`${number} ${diff}`);
  const stage = failure?.split(":", 1)[0];
  if (stage !== undefined) foundBy.set(stage, (foundBy.get(stage) ?? 0) + 1);
  for (const test of failure?.match(/test\/\S+\.test\.ts/g) ?? []) finders.add(test);
  process.stdout.write(
    `${number} ${diff.split("\n", 1)[0]} ${failure === undefined ? "SURVIVES" : `found by ${failure}`}\n`,
  );
}
