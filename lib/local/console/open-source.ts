/** Where the page finds what it shows: on one machine, or in a stage on AWS. */
import { readEnvironment } from "../../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, loadConfig } from "../../../lambdas/shared/config/load.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { AwsFailure } from "../../cli/aws/aws-failure.ts";
import { readStackOutputs } from "../../cli/aws/stack-outputs.ts";
import { chooseStage, type NamedStage } from "../../cli/aws/stage.ts";
import { checkFromHere } from "../../cli/destinations/check.ts";
import { checkInStage } from "../../cli/destinations/check-in-stage.ts";
import { type EffectiveConfig, readEffectiveConfig } from "../../cli/destinations/effective-config.ts";
import { localTaskPlace, taskPlace } from "../../cli/tasks/place.ts";
import type { TaskPlace } from "../../cli/tasks/stored-task.ts";
import { readLocalRecord, readStageRecord } from "../../cli/trace/execution-record.ts";
import { createPicture, type Picture } from "../../cli/trace/picture.ts";
import { openLocalZone } from "../../cli/zone/local-zone.ts";
import { openStageZone } from "../../cli/zone/stage-zone.ts";
import { zoneFile } from "../../cli/zone/zone.ts";
import type { RecordedStep } from "../recorder/step-recorder.ts";
import { createArchivedLetters, createUndeliveredLetters, type DeadLetters } from "./dead-letters.ts";
import { createHealthBoard, type HealthBoard } from "./health.ts";

export type ConsoleSource = {
  /** In the page's head: "this machine", "stage prod". */
  name: string;
  place: TaskPlace;
  /** `note` says what is missing in the picture, and why. */
  pictureOf(request: { task: Task }): Promise<{ picture: Picture | undefined; note?: string | undefined }>;
  health: HealthBoard;
  deadLetters: DeadLetters;
  close(): Promise<void>;
};

/** The server answers nobody while it waits for a lock, which a zone holds for about a millisecond. */
const busyTimeoutMs = 500;

export type LocalRun = {
  config: ConfigLocation;
  store?: string | undefined;
  executionPort?: number | undefined;
  /** What the run of this process has seen, with frames. */
  steps?: (() => readonly RecordedStep[]) | undefined;
};

/** Throws if there is no file of tasks. */
export function openLocalSource({ signal, ...run }: LocalRun & { signal: AbortSignal }): ConsoleSource {
  const { config, store, executionPort, steps } = run;
  const file = zoneFile({ directory: config.directory, store });
  const zone = openLocalZone({ file, config: () => loadConfig(config), busyTimeoutMs });
  const place = localTaskPlace({ zone, signal });
  return {
    name: "this machine",
    place,
    pictureOf: createPictureOf({ read: (ids) => readLocalRecord({ beside: file, ...ids }), steps }),
    health: openHealth({ config, stage: undefined, executionPort, signal }),
    deadLetters: createUndeliveredLetters({ place }),
    close: place.close,
  };
}

/** Rejects with what to do if the stage is unknown, not deployed, or in another account. */
export async function openStageSource({
  config,
  stage,
  signal,
}: {
  config: ConfigLocation;
  stage: string;
  signal: AbortSignal;
}): Promise<ConsoleSource> {
  const file = loadConfig(config);
  const named = chooseStage(file, stage);
  const place = await taskPlace({ zone: await openStageZone({ config: file, stage, signal }), signal });
  return {
    name: `stage ${named.stageName}`,
    place,
    pictureOf: createPictureOf({ read: (ids) => readStageRecord({ named, ...ids, signal }) }),
    health: openHealth({ config, stage, executionPort: undefined, signal }),
    deadLetters: createArchivedLetters({ named, place, signal }),
    close: place.close,
  };
}

function createPictureOf({
  read,
  steps,
}: {
  read: (ids: { requestId: string; taskIds: readonly string[] }) => ReturnType<typeof readLocalRecord>;
  steps?: (() => readonly RecordedStep[]) | undefined;
}): ConsoleSource["pictureOf"] {
  return async ({ task }) => {
    const { id: requestId, call } = task;
    const record = await read({ requestId, taskIds: call?.taskId === undefined ? [] : [call.taskId] });
    const sources = { requestId, task, execution: record.task, stepRecorder: steps?.() ?? [] };
    return { picture: createPicture({ ...sources, nowMs: Date.now() }), note: record.note };
  };
}

type HealthSource = {
  config: ConfigLocation;
  stage: string | undefined;
  executionPort: number | undefined;
  signal: AbortSignal;
};

function openHealth({ config: place, stage, executionPort, signal }: HealthSource): HealthBoard {
  const port = executionPort ?? readEnvironment().executionPort;

  /** Undefined if the worker does not tell. */
  async function checkByWorker(name: string, { config, named }: EffectiveConfig & { named: NamedStage }) {
    const outputs = await readStackOutputs({ ...named, signal });
    const [checked] = await checkInStage({ ...named, config, outputs, names: [name], signal });
    return checked;
  }

  return createHealthBoard({
    read: () => readEffectiveConfig({ place, stage, signal }),
    async check({ effective, name }) {
      const { named, config } = effective;
      const destination = config.destinations[name];
      const unknown = (words: string) => ({ name, address: "unknown", health: "unhealthy" as const, words });
      if (destination === undefined) return unknown("It is gone.");
      if (named === undefined) return checkFromHere({ config, place, name, destination, executionPort: port, signal });
      try {
        return (await checkByWorker(name, { ...effective, named })) ?? unknown("The worker does not tell.");
      } catch (thrown) {
        return unknown(thrown instanceof AwsFailure ? thrown.message : "It cannot be checked.");
      }
    },
    own: (effective) =>
      effective.named === undefined
        ? { address: `http://127.0.0.1:${port}/` }
        : { address: "the stage's own Execution zone", authorizer: "sigv4" },
  });
}
