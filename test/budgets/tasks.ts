/** Whole tasks in the simulation, in a quiet world without a fault. */
import { runPlan } from "../faults/run-plan.ts";
import { type Counts, countOperations } from "./counters.ts";

const stories = { sync: "answered at once", accepted: "polled" };

export type CountedTasks = {
  /** The calls of both zones to everything outside of them, by kind, such as `slack.post`. */
  calls: Record<string, Record<string, number>>;
  /** What both zones do in process, with the simulation around them but not its checks. */
  work: Record<string, Counts>;
};

/** By story and engine. */
export async function countTasks(): Promise<CountedTasks> {
  const runs = (["sqlite", "aws"] as const).flatMap((engine) =>
    Object.entries(stories).map(([story, what]) => {
      return { name: `${what}, ${engine}`, plan: { story, engine, seed: 0, faults: [] } };
    }),
  );
  const calls: CountedTasks["calls"] = {};
  for (const { name, plan } of runs) {
    const { steps, violations } = await runPlan({ plan });
    if (violations.length > 0) throw new Error(`${name}: ${JSON.stringify(violations)}`);
    const points = Map.groupBy(steps, ({ point }) => point);
    calls[name] = Object.fromEntries(
      [...points].sort().map(([point, { length }]) => [point, length]),
    );
  }
  const operations = Object.fromEntries(
    runs.map(({ name, plan }) => [
      name,
      async () => void (await runPlan({ plan, isChecked: false })),
    ]),
  );
  return { calls, work: await countOperations(operations) };
}
