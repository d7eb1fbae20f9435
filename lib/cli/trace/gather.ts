/** Finds which task is meant, and gathers what the stores know of it. */
import { join, resolve } from "node:path";
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { loadConfig } from "../../../lambdas/shared/config/load.ts";
import { EngineFileError, fileErrorOf } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { chooseStage } from "../aws/stage.ts";
import { findTask } from "../tasks/find-task.ts";
import { atPlace, type PlaceValues } from "../tasks/place.ts";
import { type ExecutionRecord, readLocalRecord, readStageRecord } from "./execution-record.ts";
import { linesOf, requestIdsFor } from "./fitting-lines.ts";
import type { LogLine } from "./log-line.ts";
import type { KnownOfTask } from "./picture.ts";

type Wanted = { id: string; values: PlaceValues; lines: readonly LogLine[] | undefined };

/**
 * With log lines, what a store cannot tell is a note and not an error: they may be all that there is. Throws where no task is
 * found, or several are.
 */
export async function gather(run: CommandRun, wanted: Wanted): Promise<Omit<KnownOfTask, "nowMs" | "stepRecorder">> {
  const { id, values, lines = [] } = wanted;
  const requestId = onlyOne({ ids: requestIdsFor({ lines, id }), id });
  const task = await readTask(run, { ...wanted, requestId });
  const found = requestId ?? task?.id;
  if (found === undefined) throw new Error(`Nothing is known of ${id}.`);
  const taskIds = [
    task?.call?.taskId,
    linesOf({ all: lines, requestId: found, taskId: undefined, traceId: undefined }).taskId,
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
    return await atPlace(run, values, async (place) =>
      findTask({ place, id: requestId ?? id.toLowerCase(), note: run.note }),
    );
  } catch (error) {
    const thrown = fileErrorOf({ error, file: "The file of tasks" }) ?? error;
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
  { directory, signal }: CommandRun,
  { values, ...asked }: { values: PlaceValues; requestId: string; taskIds: string[] },
): Promise<ExecutionRecord> {
  const { stage, store, config: file } = values;
  if (stage !== undefined) {
    const named = chooseStage(loadConfig({ directory, file }), stage);
    return readStageRecord({ named, signal, ...asked });
  }
  const beside = store === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, store);
  return readLocalRecord({ beside, ...asked });
}
