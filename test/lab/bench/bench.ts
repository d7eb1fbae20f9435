/** The list of benches, and what they share. */
import type { BenchTable } from "./table.ts";

export type BenchRun = {
  /** How many rounds to make: the usual number, or fewer in a quick run. */
  rounds(usual: number): number;
  /** Called before each round. Throws when the run was interrupted. */
  beforeRound(request: { round: number; of: number }): void;
  /** Another checkout of this project, which is measured in the same turns. */
  beside: string | undefined;
  /** Says that something was left out, and why. */
  note(text: string): void;
};

export type Bench = (run: BenchRun) => Promise<BenchTable[]>;

/** Loaded when it is their turn. */
export const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  contract: async () => (await import("./contract.ts")).benchContract,
  transport: async () => (await import("./transport.ts")).benchTransport,
  a2a: async () => (await import("./a2a.ts")).benchA2a,
  slack: async () => (await import("./slack.ts")).benchSlack,
  ingress: async () => (await import("./ingress.ts")).benchIngress,
  engine: async () => (await import("./engine.ts")).benchEngine,
  task: async () => (await import("./task.ts")).benchTask,
  streaming: async () => (await import("./streaming.ts")).benchStreaming,
  cold: async () => (await import("./cold.ts")).benchCold,
};

/** Runs the sides in turns, `usual` rounds unless the run is a short one. The first `warmUps` rounds do not count. */
export async function takeTurns(request: {
  run: Pick<BenchRun, "rounds" | "beforeRound">;
  usual: number;
  warmUps?: number;
  turns: readonly ((isCounted: boolean) => Promise<void>)[];
}): Promise<void> {
  const { run, usual, warmUps = 0, turns } = request;
  const rounds = run.rounds(usual);
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const turn of shuffled(turns)) {
      run.beforeRound({ round: Math.max(round, 0) + 1, of: rounds });
      await turn(round >= 0);
    }
  }
}

function shuffled<T>(values: readonly T[]): T[] {
  const numbered = values.map((value) => ({ value, order: Math.random() }));
  return numbered.sort((a, b) => a.order - b.order).map(({ value }) => value);
}

/** The value below which that share of all lies. */
export function rank(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

/** True if a package to compare with is installed. Otherwise notes what is left out. */
export function hasPeer({ run, name }: { run: BenchRun; name: string }): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    run.note(`${name} is not installed, so what is measured beside it is left out.`);
    return false;
  }
}
