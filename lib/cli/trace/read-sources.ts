/** Finds the task that a person means, and reads what the stores know of it. */

import { ConfigError } from "../../../lambdas/shared/config/config-error.ts";
import { toFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { readStage } from "../aws/stage.ts";
import { type CommandRun, UsageError } from "../command.ts";
import { findTask, NoSuchTask } from "../tasks/find-task.ts";
import { withTaskZone } from "../tasks/task-zone.ts";
import { type ZoneValues, zoneFile } from "../zone/zone.ts";
import { readExecutionRecord } from "./execution-record.ts";
import { findRequestIds, type LogLine, selectLines } from "./log-lines.ts";
import type { PictureSources } from "./picture.ts";

type Request = { id: string; values: ZoneValues; lines: readonly LogLine[] | undefined };

/** With log lines, an unreadable store is only a note. Throws if no task is found, or several fit. */
export async function readSources(
  run: CommandRun,
  request: Request,
): Promise<Omit<PictureSources, "nowMs">> {
  const { id, values, lines = [] } = request;
  const [fromLines, ...others] = findRequestIds({ lines, id });
  if (others.length > 0) {
    throw new Error(
      `Several tasks of the log lines fit ${id}:\n${[fromLines, ...others].slice(0, 5).join("\n")}`,
    );
  }
  const task = await readTask(run, { ...request, fromLines });
  const requestId = fromLines ?? task?.id ?? id;
  const inLines = selectLines({ all: lines, requestId, taskId: undefined, traceId: undefined });
  const { directory, signal, note } = run;
  const isLocal = values.stage === undefined;
  const at = isLocal
    ? { file: zoneFile({ directory, store: values.store }) }
    : readStage(run, values).named;
  const taskIds = [task?.call?.taskId, inLines.taskId];
  const execution = await readExecutionRecord({ at, requestId, taskIds, signal });
  if (execution.note !== undefined) {
    note(
      request.lines === undefined
        ? `${execution.note} Give its log lines with --logs instead.`
        : execution.note,
    );
  }
  return { requestId, task, execution: execution.task, lines };
}

async function readTask(
  run: CommandRun,
  { id, values, lines, fromLines }: Request & { fromLines: string | undefined },
): Promise<Task | undefined> {
  try {
    return await withTaskZone(run, values, async (zone) =>
      findTask({ zone, id: fromLines ?? id.toLowerCase(), note: run.note }),
    );
  } catch (error) {
    const thrown = toFileError({ error, file: "The task file" }) ?? error;
    const isUsage = thrown instanceof UsageError || thrown instanceof ConfigError;
    if (run.signal.aborted || isUsage || !(thrown instanceof Error)) throw thrown;
    if (fromLines !== undefined) {
      run.note(`${thrown.message} The timeline comes from the log lines alone.`);
      return undefined;
    }
    if (!(thrown instanceof NoSuchTask)) throw thrown;
    const hint =
      lines === undefined
        ? "To find a task id or a trace id, give --logs."
        : "No log line belongs to it.";
    throw new Error(`${thrown.message} ${hint}`);
  }
}
