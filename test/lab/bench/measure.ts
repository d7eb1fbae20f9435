/** Shared by benches over sockets: servers in processes of their own, and clients that take turns. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { type BenchRun, rank, takeTurns } from "./bench.ts";
import { type BenchTable, type SideRow, sidesTable } from "./table.ts";

export type Caller = { call: () => Promise<unknown>; close: () => Promise<void> };

/** A server, whose file is in this directory and calls `serveParent`, and the client that calls it. */
export type Side = {
  file: string;
  words: string[];
  caller: (server: { url: string }) => Caller | Promise<Caller>;
};

export const connections = 64;
const rounds = 40;
const callsAlone = 100;
const callsTogether = 1000;
const callsToWarmUp = 6000;

/** The goals are of the ratios to the baseline. */
export type Case = Side & Pick<SideRow, "name" | "goals">;

/** All sides are measured in one run, in short turns of random order, so that they meet the same machine. */
export async function measureSides(request: {
  run: BenchRun;
  /** The table's name. */
  name: string;
  baseline: Case;
  cases: readonly Case[];
}): Promise<BenchTable> {
  const { run, name, cases } = request;
  const closers: Opened[] = [];
  const open = async (side: Side) => {
    run.beforeRound({ round: 0, of: rounds });
    const one = await openSide(side);
    closers.push(one);
    return one;
  };
  try {
    const baseline = await open(request.baseline);
    const sides: Opened[] = [];
    for (const each of cases) sides.push(await open(each));
    await takeTurns({
      run,
      usual: 1,
      turns: closers.map(
        ({ caller }) =>
          () =>
            warmUp(caller),
      ),
    });
    await takeTurns({ run, usual: rounds, turns: closers.flatMap(toTurns) });
    return sidesTable({
      name,
      together: connections,
      baseline: toRow(request.baseline, baseline),
      rows: cases.flatMap((each, index) => toRow(each, sides[index])),
    });
  } finally {
    for (const { close } of closers) await close();
  }
}

async function warmUp(caller: Caller): Promise<void> {
  await callTogether({ caller, calls: callsToWarmUp });
}

type Opened = Awaited<ReturnType<typeof openSide>>;

async function openSide({ file, words, caller: createCaller }: Side) {
  const server = await startServer({ file, words });
  const caller = await createCaller(server);
  const close = () => caller.close().finally(server.stop);
  const seen = { p50Ms: [] as number[], perSecond: [] as number[], serverUs: [] as number[] };
  return { server, caller, close, seen };
}

function toTurns({ server, caller, seen }: Opened): (() => Promise<void>)[] {
  return [
    async () => void seen.p50Ms.push(await medianAlone(caller)),
    async () => {
      const usedUs = await server.processorUs();
      seen.perSecond.push(await callTogether({ caller, calls: callsTogether }));
      seen.serverUs.push(((await server.processorUs()) - usedUs) / callsTogether);
    },
  ];
}

/** The best decile of the rounds' values. */
function toRow({ name, goals }: Case, side: Opened | undefined): SideRow {
  const { p50Ms = [], perSecond = [], serverUs = [] } = side?.seen ?? {};
  const best = {
    p50Ms: rank(p50Ms, 0.1),
    perSecond: rank(perSecond, 0.9),
    serverUs: rank(serverUs, 0.1),
  };
  return { name, goals, ...best };
}

/** Starts a file of this directory as a process. */
export async function startServer({ file, words }: { file: string; words: string[] }) {
  // Ctrl-C must not reach it, because it is stopped here in its turn.
  const child = fork(join(import.meta.dirname, file), words, { detached: true });
  const end = Promise.withResolvers<void>();
  child.once("exit", () => end.resolve());
  function message(): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    child.once("message", resolve);
    void end.promise.then(() => reject(new Error("The bench's server ended.")));
    return promise;
  }
  return {
    url: String(await message()),
    /** How much it has used so far. */
    async processorUs(): Promise<number> {
      child.send("processor time");
      return Number(await message());
    },
    async stop(): Promise<void> {
      child.kill();
      await end.promise;
    },
  };
}

/** Runs in the server's process: tells the parent the URL, and its processor time when the parent asks. */
export async function serveParent(start: () => Promise<string>): Promise<void> {
  // A parent that fails leaves no server behind.
  process.once("disconnect", () => process.exit());
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.send?.(await start());
}

async function medianAlone({ call }: Caller): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < callsAlone; count += 1) {
    const startMs = performance.now();
    await call();
    times.push(performance.now() - startMs);
  }
  return rank(times, 0.5);
}

/** Calls per second. */
async function callTogether({ caller, calls }: { caller: Caller; calls: number }): Promise<number> {
  let left = calls;
  const startMs = performance.now();
  const worker = async () => {
    while (left-- > 0) await caller.call();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return (calls / (performance.now() - startMs)) * 1000;
}
