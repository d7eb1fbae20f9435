/** Finds which task is meant, and gathers what the stores know of it. */
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { EngineFileError, toFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { readStage } from "../aws/stage.ts";
import { findTask } from "../tasks/find-task.ts";
import { withTaskPlace } from "../tasks/place.ts";
import { type ZoneValues, zoneFile } from "../zone/zone.ts";
import { type ExecutionRecord, readLocalRecord, readStageRecord } from "./execution-record.ts";
import { findRequestIds, selectLines } from "./fitting-lines.ts";
import type { LogLine } from "./log-line.ts";
import type { PictureSources } from "./picture.ts";

type Wanted = { id: string; values: ZoneValues; lines: readonly LogLine[] | undefined };

/**
 * With log lines, what a store cannot tell is a note and not an error: they may be all that there is. Throws where no task is
 * found, or several are.
 */
export async function gatherSources(
  run: CommandRun,
  wanted: Wanted,
): Promise<Omit<PictureSources, "nowMs" | "stepRecorder">> {
  const { id, values, lines = [] } = wanted;
  const requestId = onlyOne({ ids: findRequestIds({ lines, id }), id });
  const task = await readTask(run, { ...wanted, requestId });
  const found = requestId ?? task?.id;
  if (found === undefined) throw new Error(`Nothing is known of ${id}.`);
  const taskIds = [
    task?.call?.taskId,
    selectLines({ all: lines, requestId: found, taskId: undefined, traceId: undefined }).taskId,
  ];
  const asked = { requestId: found, taskIds: taskIds.filter((each) => each !== undefined) };
  const { task: execution, note } = await readExecution(run, { values, ...asked });
  if (note !== undefined) run.note(note);
  return { requestId: found, task, execution, lines };
}

function onlyOne({ ids, id }: { ids: string[]; id: string }): string | undefined {
  const shown = ids.slice(0, 5);
  if (ids.length > 1) throw new Error(`Several tasks of the log lines fit ${id}:\n${shown.join("\n")}`);
  return ids[0];
}

/** By the request id that the lines gave, else by what the person typed. */
async function readTask(
  run: CommandRun,
  { id, values, lines, requestId }: Wanted & { requestId: string | undefined },
): Promise<Task | undefined> {
  try {
    return await withTaskPlace(run, values, async (place) =>
      findTask({ place, id: requestId ?? id.toLowerCase(), note: run.note }),
    );
  } catch (error) {
    const thrown = toFileError({ error, file: "The file of tasks" }) ?? error;
    const isOver = run.signal.aborted || !(thrown instanceof Error) || thrown instanceof UsageError;
    if (isOver || thrown.name === "ConfigError") throw thrown;
    if (requestId !== undefined) {
      run.note(`${thrown.message} What follows is from the log lines.`);
      return undefined;
    }
    if (thrown instanceof AwsFailure || thrown instanceof EngineFileError) throw thrown;
    const hint =
      lines === undefined ? "A task id or a trace id is found in log lines: --logs." : "No log line is of it.";
    throw new Error(`${thrown.message} ${hint}`);
  }
}

function readExecution(
  run: CommandRun,
  { values, ...asked }: { values: ZoneValues; requestId: string; taskIds: string[] },
): Promise<ExecutionRecord> {
  const { directory, signal } = run;
  if (values.stage !== undefined) return readStageRecord({ ...readStage(run, values), signal, ...asked });
  return readLocalRecord({ beside: zoneFile({ directory, store: values.store }), ...asked });
}
