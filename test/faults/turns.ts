/** Whether the tasks of a thread took their turns, and whether agents stopped when they were told to. */
import type { Fate } from "./agreement.ts";
import type { AgentRun } from "./world.ts";

type Seen = { fates: readonly Fate[]; agentRuns: readonly AgentRun[] };

/** A task that waited began after one whose message came later, although it waited already. */
export function outOfTurn(fates: readonly Fate[]): string | undefined {
  const waited = fates.flatMap(({ asked, record }) => {
    const at = (state: string) => record?.history.find((entry) => entry.state === state)?.atMs;
    const [queuedMs, begunMs] = [at("queued"), at("announced")];
    return queuedMs === undefined || begunMs === undefined ? [] : [{ ...asked, queuedMs, begunMs }];
  });
  for (const early of waited) {
    const late = waited.find(
      ({ ts, threadTs, begunMs }) =>
        threadTs === early.threadTs &&
        Number(ts) > Number(early.ts) &&
        begunMs > early.queuedMs &&
        begunMs < early.begunMs,
    );
    if (late !== undefined) return `${late.requestId} began before ${early.requestId}`;
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
  const hearsWithinMs = 15_000;
  for (const { requestId, untilMs, end } of agentRuns) {
    const fate = fates.find(({ asked }) => asked.requestId === requestId);
    const told = fate?.record?.history.find(({ event }) => event === "canceled");
    if (fate?.executed?.state !== "canceled" || told === undefined) continue;
    const isLate = untilMs > told.atMs - fate.zoneAheadMs + hearsWithinMs;
    if (end !== "stopped" && isLate) return `${requestId} ${end}`;
  }
  return undefined;
}
