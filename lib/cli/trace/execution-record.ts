/** The Execution zone's record of a task, where its store is at hand. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  deriveTaskId,
  type ExecutionTask,
  parseExecutionTask,
} from "../../../lambdas/execution/tasks/execution-task.ts";
import { findExecutionPlace } from "../../../lambdas/shared/config/stage-config.ts";
import { dynamoDbSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import { formatRoleName } from "../../cdk/names.ts";
import { openSqliteEngine } from "../../local/engine.ts";
import { AwsFailure, callAws } from "../aws/aws-failure.ts";
import { readExecutionTable } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";

export type ExecutionRecord = {
  task?: ExecutionTask;
  /** Why there is none, as a line for a person. */
  note?: string;
};

/** `taskIds`: those that the task may have there, as records and log lines say. */
type Asked = { requestId: string; taskIds: readonly string[] };

/** As hosts name their only caller, where everyone is let in, by a token, or by the platform. */
const localPrincipals = ["anyone", "bearer", "platform"];

/** From the file beside the Verification zone's. Without a note where there is no such file: tasks may run anywhere else. */
export async function readLocalRecord({ beside, ...asked }: Asked & { beside: string }): Promise<ExecutionRecord> {
  const file = join(dirname(beside), "execution.db");
  if (!existsSync(file)) return {};
  const engine = openSqliteEngine({ file });
  try {
    const store = engine.taskStore({ parse: parseRecord });
    return await firstOf({
      ids: possibleIds({ ...asked, principals: localPrincipals }),
      get: (id) => store.get({ id }),
    });
  } finally {
    await engine.close();
  }
}

/** From the stage's Execution table. Never rejects because of AWS: what cannot be read is a note. */
export async function readStageRecord({
  named,
  signal,
  ...asked
}: Asked & { named: NamedStage; signal: AbortSignal }): Promise<ExecutionRecord> {
  const { stageName, stage } = named;
  const { account } = stage.verification;
  const place = findExecutionPlace(stage);
  if (place === undefined) return {};
  if (place.account !== account) {
    return {
      note: `The Execution zone is in account ${place.account}, which these credentials do not read: its log lines tell of it, by --logs.`,
    };
  }
  const client = new DynamoDBClient({ ...dynamoDbSettings, region: place.region });
  try {
    const table = await readExecutionTable({ ...named, region: place.region, signal });
    const store = createDynamoTaskStore({ client, table, parse: parseRecord, signal });
    const role = `${account}:role/${formatRoleName({ stageName, zone: "Verification" })}`;
    const get = (id: string) =>
      callAws({ doing: "read the Execution zone's record", signal, call: () => store.get({ id }) });
    return await firstOf({ ids: possibleIds({ ...asked, principals: [role, "agentcore"] }), get });
  } catch (thrown) {
    if (thrown instanceof AwsFailure && !signal.aborted) return { note: thrown.message };
    throw thrown;
  } finally {
    client.destroy();
  }
}

/** An answer at once tells of no task id; then it follows from who asked. */
function possibleIds({ requestId, taskIds, principals }: Asked & { principals: readonly string[] }): Set<string> {
  const derived = principals.map((principal) => deriveTaskId({ principal, requestId }));
  return new Set([...taskIds, ...derived].filter((id) => id !== undefined));
}

async function firstOf({
  ids,
  get,
}: {
  ids: Set<string>;
  get: (id: string) => Promise<Stored | undefined>;
}): Promise<ExecutionRecord> {
  for (const id of ids) {
    const stored = await get(id);
    if (stored === undefined) continue;
    if (stored.task !== undefined) return { task: stored.task };
    return { note: `The Execution zone's record ${id} is of another version of Sekisho.` };
  }
  return {};
}

type Stored = TaskItem & Pick<ExecutionRecord, "task">;

/** The store's own fields are those of every version. */
function parseRecord(json: unknown): Stored {
  const item = json as TaskItem;
  try {
    return { ...item, task: parseExecutionTask(json) };
  } catch {
    return item;
  }
}
