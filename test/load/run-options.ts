/** What `npm run load` can be told. */
import { parseArgs } from "node:util";

export const usage = `Usage: npm run load -- [--tasks N] [--at-once N] [--failing PERCENT] [--seed N]

Asks for many tasks through both zones on this machine (signed events, sqlite, https over a socket, a fake Slack)
while calls fail, and checks that each is answered exactly once, its agent started once, and memory stays flat.
Then counts what a task costs with 100 and with all tasks waiting at the same time.

  --tasks N          tasks in all (default 10000)
  --at-once N        so many of them in execution at once (default 1000)
  --failing PERCENT  of the calls to Slack and to the Execution zone, and of the events delivered twice (default 10)
  --seed N           for everything that is random (default 1)
  --help             this text

Exit code: 0 the promise was kept, 1 it was not, 2 bad usage, 130 interrupted.
`;

export type Numbers = { tasks: number; "at-once": number; failing: number; seed: number };

/** Undefined where they are not understood; what is wrong has been said by then. */
export function readNumbers(words: string[]): Numbers | "help" | undefined {
  try {
    const { values } = parseArgs({
      args: words,
      options: {
        tasks: { type: "string", default: "10000" },
        "at-once": { type: "string", default: "1000" },
        failing: { type: "string", default: "10" },
        seed: { type: "string", default: "1" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return "help";
    return {
      tasks: wholeNumber("tasks", values.tasks, { min: 1 }),
      "at-once": wholeNumber("at-once", values["at-once"], { min: 1 }),
      failing: wholeNumber("failing", values.failing, { min: 0, max: 50 }),
      seed: wholeNumber("seed", values.seed, { min: 0 }),
    };
  } catch (thrown) {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : thrown}\n${usage}`);
    return undefined;
  }
}

function wholeNumber(name: string, text: string, { min, max = 1_000_000 }: { min: number; max?: number }): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new Error(`--${name} must be a whole number from ${min} to ${max}, not "${text}".`);
}
