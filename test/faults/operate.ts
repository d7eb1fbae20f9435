/** Everything that leaves a process goes through here: counted, delayed, and met by the fault that is planned for it. */
import type { Point } from "./faults.ts";
import { currentProcess, kill, never, outside } from "./processes.ts";
import { chance, currentEvent, later } from "./virtual-time.ts";
import { meet, type World } from "./world.ts";

/** The errors that each party reports. */
export type Failures = {
  refused: () => Error;
  unknown: () => Error;
  gone?: () => Error;
  limited?: () => Error;
  /** Absent where there are no blocks. */
  blocksRefused?: (() => Error) | undefined;
};

/** `usualMs` is what an operation takes; the caller of a slow one gives up after `giveUpMs`, and it is done `landMs` after its begin at the latest. */
export type Times = { usualMs: number; giveUpMs: number; landMs: number };

/** Long enough for others to come first, and shorter than any caller waits. */
const overtakenMs = 2500;

/** Done at the moment when the answer comes; what may lie between the two is the time before the next operation. */
export function operate<T>({
  world,
  point,
  about,
  detail,
  times,
  failures,
  signal,
  stale,
  effect,
}: {
  world: World;
  point: Point;
  /** Its subject. With the point and a count it addresses the operation in a scenario. */
  about: () => string;
  detail?: (() => string) | undefined;
  times: Times;
  failures: Failures;
  signal?: AbortSignal;
  /** The result to return instead, if the answer of another call can come back. */
  stale?: () => T;
  effect: () => T | Promise<T>;
}): Promise<T> {
  const process = currentProcess();
  if (process?.alive !== true) return never();
  const { fate, holdBack, step } = meet({ world, process, point, about, detail });
  if (signal?.aborted) return Promise.reject(failures.refused());
  const { promise, resolve: take, reject: refuse } = Promise.withResolvers<T>();
  const abort = () => refuse(failures.unknown());
  signal?.addEventListener("abort", abort);
  const resolve = (value: T | Promise<T>) => {
    signal?.removeEventListener("abort", abort);
    take(value);
  };
  const reject = (error: Error) => {
    signal?.removeEventListener("abort", abort);
    refuse(error);
  };
  const delayMs = usual({ world, times });
  const after = (ms: number, run: () => void) => later({ delayMs: ms, run });
  const anyway = (ms: number, run: () => void) => outside(() => later({ delayMs: ms, run }));
  switch (fate) {
    case undefined:
      after(delayMs, () => {
        step.doneIn = currentEvent();
        resolve(attempt(effect));
      });
      break;
    case "gone":
      after(delayMs, () => reject((failures.gone ?? failures.refused)()));
      break;
    case "refused":
      after(delayMs, () => reject(failures.refused()));
      break;
    case "limited":
      after(delayMs, () => reject((failures.limited ?? failures.refused)()));
      break;
    case "blocks_refused":
      after(delayMs, () =>
        failures.blocksRefused ? reject(failures.blocksRefused()) : resolve(attempt(effect)),
      );
      break;
    case "answer_lost":
      after(delayMs, () => {
        ignore(effect);
        reject(failures.unknown());
      });
      break;
    case "slow":
      after(times.giveUpMs, () => reject(failures.unknown()));
      if (holdBack === undefined) anyway(landing({ world, times }), () => ignore(effect));
      else holdBack(() => ignore(effect));
      break;
    case "overtaken":
      after(delayMs + overtakenMs, () => resolve(attempt(effect)));
      break;
    case "stale":
      after(delayMs, () => (stale === undefined ? reject(failures.unknown()) : resolve(stale())));
      break;
    case "repeated":
      after(delayMs, () => {
        resolve(attempt(effect));
        ignore(effect);
      });
      break;
    case "dies_before":
      kill(process);
      break;
    case "dies_after":
      anyway(delayMs, () => {
        ignore(effect);
        kill(process);
      });
      break;
    default:
      after(delayMs, () => reject(failures.unknown()));
  }
  return promise;
}

function usual({
  world,
  times: { usualMs },
}: {
  world: World;
  times: Pick<Times, "usualMs">;
}): number {
  return world.isRestless ? usualMs * (0.3 + 3 * chance() ** 3) : usualMs;
}

/** Between the caller's giving up and the latest moment. */
function landing({ world, times: { giveUpMs, landMs } }: { world: World; times: Times }): number {
  return world.isRestless ? giveUpMs + (landMs - giveUpMs) * chance() : landMs;
}

async function attempt<T>(effect: () => T | Promise<T>): Promise<T> {
  return effect();
}

/** Nobody hears of the outcome. */
function ignore(effect: () => unknown): void {
  attempt(effect).catch(() => {});
}
