/** Everything that is kept of one person at a place: the store's records, what lies beside them, rules that name them. */
import { dirname, join } from "node:path";
import { defaultAwsCredentials } from "../../../lambdas/shared/aws/default-credentials.ts";
import { createEndpointResolver } from "../../../lambdas/shared/config/aws-environment.ts";
import { createBucketFiles } from "./bucket-files.ts";
import { createArchivedLettersPart } from "./dead-letters.ts";
import { createLocalExecutionPart, createStageExecutionPart, executionRetentionMs } from "./execution-records.ts";
import type { PersonRecords } from "./find-person.ts";
import { createLocalFiles } from "./local-files.ts";
import type { DataPart, Person, RecordPlace } from "./person.ts";

/** Files are kept for a day, and what expires goes a day or so later. */
const filesKeepMs = 4 * 24 * 3600_000;

export type DataParts = { files: DataPart | undefined; letters: DataPart | undefined; execution: DataPart };

/** What is kept beside the store. On one machine dead letters are not kept. */
export function createDataParts({
  place,
  person,
  signal,
}: {
  place: RecordPlace;
  person: Person;
  signal: AbortSignal;
}): DataParts {
  const { at } = place;
  if ("file" in at) {
    const folder = dirname(at.file);
    return {
      files: createLocalFiles({ folder: join(folder, "files") }),
      letters: undefined,
      execution: createLocalExecutionPart({ file: executionFilePath(at.file), signal }),
    };
  }
  const { outputs, stage } = at;
  const { region } = stage.verification;
  const aws = { region, credentials: defaultAwsCredentials(), endpointOf: createEndpointResolver({ region }) };
  return {
    files: outputs.filesBucket === "" ? undefined : createBucketFiles({ bucket: outputs.filesBucket, aws, signal }),
    letters: createArchivedLettersPart({ person, queueUrl: outputs.deadLettersUrl, region, signal }),
    execution: createStageExecutionPart({ ...at, signal }),
  };
}

/** The Execution zone of the local run keeps its tasks beside. */
export function executionFilePath(file: string): string {
  return join(dirname(file), "execution.db");
}

/** Request ids of which something may lie elsewhere: all that is older has expired there. */
export function listRecentIds({ found, nowMs }: { found: PersonRecords; nowMs: number }): {
  files: Set<string>;
  execution: Set<string>;
} {
  const ended = [
    ...found.tasks.map(({ id, lastAtMs }) => ({ id, atMs: lastAtMs })),
    ...found.history.map(({ requestId, endedAtMs }) => ({ id: requestId, atMs: endedAtMs })),
  ];
  const within = (ms: number) => new Set(ended.filter(({ atMs }) => nowMs - atMs < ms).map(({ id }) => id));
  return { files: within(filesKeepMs), execution: within(executionRetentionMs) };
}

export function listAllIds({ tasks, history }: PersonRecords): Set<string> {
  return new Set([...tasks.map(({ id }) => id), ...history.map(({ requestId }) => requestId)]);
}
