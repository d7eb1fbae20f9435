/** The arguments of the load scripts: whole numbers by name. */
import { parseArgs } from "node:util";

const helpOption = { help: { type: "boolean", default: false } } as const;

type Bounds = { standard: number; min: number; max?: number };

/** Returns an exit code instead after it has printed the usage, or what is wrong with the arguments. */
export function readWholeNumbers<Name extends string>({
  words,
  usage,
  bounds,
}: {
  words: string[];
  usage: string;
  bounds: Record<Name, Bounds>;
}): Record<Name, number> | 0 | 2 {
  const named = Object.entries<Bounds>(bounds);
  try {
    const options = Object.fromEntries(
      named.map(([name, { standard }]) => [
        name,
        { type: "string", default: String(standard) } as const,
      ]),
    );
    const { help, ...values } = parseArgs({
      args: words,
      options: { ...options, ...helpOption },
    }).values;
    if (help) {
      process.stdout.write(usage);
      return 0;
    }
    const given = new Map(Object.entries(values));
    const numbers = named.map(([name, limits]) => [
      name,
      readWholeNumber(name, String(given.get(name)), limits),
    ]);
    return Object.fromEntries(numbers) as Record<Name, number>;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}`);
    return 2;
  }
}

function readWholeNumber(name: string, text: string, { min, max = 1_000_000 }: Bounds): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new Error(`--${name} must be a whole number from ${min} to ${max}, not "${text}".`);
}
