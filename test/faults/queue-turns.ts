/** Whether the tasks of a thread took their turns, and whether agents stopped when they were told to. */
import type { Fate } from "./agreement.ts";
import type { AgentRun, World } from "./world.ts";

type Seen = { fates: readonly Fate[]; agentRuns: readonly AgentRun[] };

/** One began whose message came later, although this one stood in the thread's record already. */
export function outOfTurn({ fates, turns }: { fates: readonly Fate[]; turns: World["turns"] }): string | undefined {
  const taken = fates.flatMap(({ asked }) => {
    const turn = turns.get(asked.requestId);
    return turn === undefined ? [] : [{ ...asked, ...turn }];
  });
  for (const early of taken) {
    const late = taken.find(
      ({ ts, threadTs, begunMs }) =>
        threadTs === early.threadTs &&
        Number(ts) > Number(early.ts) &&
        begunMs > early.linedUpMs &&
        begunMs < early.begunMs,
    );
    const isCanceled = early.begunMs === Number.POSITIVE_INFINITY;
    if (late !== undefined && !isCanceled) return `${late.requestId} began before ${early.requestId}`;
  }
  return undefined;
}

/** One that was canceled may still be on its way to its end when the next one begins. */
export function agentsTogether({ fates, agentRuns }: Seen): string | undefined {
  const runs = agentRuns.flatMap((run) => {
    const fate = fates.find(({ asked }) => asked.requestId === run.requestId);
    return fate === undefined || fate.executed?.state === "canceled" ? [] : [{ ...run, thread: fate.asked.threadTs }];
  });
  for (const [index, one] of runs.entries()) {
    const other = runs
      .slice(index + 1)
      .find(({ thread, fromMs, untilMs }) => thread === one.thread && fromMs < one.untilMs && one.fromMs < untilMs);
    if (other !== undefined) return `${one.requestId} and ${other.requestId}`;
  }
  return undefined;
}

/** It hears of it at the next renewal of its lease; one that is at its end then is fine as well. */
export function canceledButWorking({ fates, agentRuns }: Seen): string | undefined {
  const hearsWithinMs = 30_000;
  for (const { requestId, untilMs, end } of agentRuns) {
    const fate = fates.find(({ asked }) => asked.requestId === requestId);
    const told = fate?.record?.history.find(({ event }) => event === "canceled");
    if (fate?.executed?.state !== "canceled" || told === undefined) continue;
    const isLate = untilMs > told.atMs - fate.zoneAheadMs + hearsWithinMs;
    if (end !== "stopped" && isLate) return `${requestId} ${end}`;
  }
  return undefined;
}
