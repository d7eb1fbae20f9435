/** The tasks of a zone, for the commands about tasks and the operators' page. */

import type { CommandRun } from "../../../bin/commands/command.ts";
import type { LocalZone } from "../zone/local-zone.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { atZone, type ZoneValues } from "../zone/zone.ts";
import { localTasks } from "./local-place.ts";
import { parseStored, type TaskPlace } from "./stored-task.ts";

/** Runs `work` on the tasks of the zone that the options name, and closes it. */
export async function withTaskPlace<T>(
  run: Pick<CommandRun, "directory" | "signal">,
  values: ZoneValues,
  work: (place: TaskPlace) => Promise<T>,
): Promise<T> {
  return atZone(run, values, async (zone) => {
    const place = await taskPlace({ zone, signal: run.signal });
    return work({ ...place, sampleRatio: () => zone.config().telemetry.traces.sampleRatio });
  });
}

/** Closed with the zone. */
export async function taskPlace({ zone, signal }: { zone: OpenZone; signal: AbortSignal }): Promise<TaskPlace> {
  const { at } = zone;
  if ("file" in at) return localTaskPlace({ zone: { ...zone, at }, signal });
  const { stageTasks } = await import("./aws-place.ts");
  const common = shared(zone);
  return { ...common, ...stageTasks({ ...at, store: common.store, signal }) };
}

/** Closed with the zone. */
export function localTaskPlace({ zone, signal }: { zone: LocalZone; signal: AbortSignal }): TaskPlace {
  const common = shared(zone);
  return { ...common, ...localTasks({ ...zone.at, store: common.store, signal }) };
}

function shared({ where, queue, close, store }: OpenZone) {
  return {
    where,
    queue,
    close,
    store: store({ parse: parseStored, doing: { read: "read a task's record", list: "list tasks" } }),
  };
}
