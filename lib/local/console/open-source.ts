/** The page's source on one machine, and of a stage on AWS. */
import { readEnvironment } from "../../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, loadConfig } from "../../../lambdas/shared/config/load.ts";
import type { DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { AwsFailure } from "../../cli/aws/aws-failure.ts";
import { readStackOutputs } from "../../cli/aws/stack-outputs.ts";
import { chooseStage, type NamedStage } from "../../cli/aws/stage.ts";
import { checkFromHere } from "../../cli/destinations/check.ts";
import { checkInStage } from "../../cli/destinations/check-in-stage.ts";
import { type EffectiveConfig, readEffectiveConfig } from "../../cli/destinations/effective-config.ts";
import { localTaskPlace, taskPlace } from "../../cli/tasks/place.ts";
import { readLocalRecord, readStageRecord } from "../../cli/trace/execution-record.ts";
import { createPicture } from "../../cli/trace/picture.ts";
import { openLocalZone } from "../../cli/zone/local-zone.ts";
import { openStageZone } from "../../cli/zone/stage-zone.ts";
import { zoneFile } from "../../cli/zone/zone.ts";
import type { RecordedStep } from "../recorder/step-recorder.ts";
import { createArchivedLetters } from "./dead-letters/archived.ts";
import { createUndeliveredLetters } from "./dead-letters/undelivered.ts";
import { createHealthBoard, type HealthBoard } from "./health.ts";
import type { ConsoleSource } from "./source.ts";

/** Nobody else is answered while a lock is waited for, which a zone holds for about a millisecond. */
const busyTimeoutMs = 500;

/** Throws where there is no file of tasks. `steps`: what the run of this process has seen. */
export function openLocalSource({
  config,
  store,
  executionPort,
  steps,
  signal,
  now = Date.now,
}: {
  config: ConfigLocation;
  store?: string | undefined;
  executionPort?: number | undefined;
  steps?: (() => readonly RecordedStep[]) | undefined;
  signal: AbortSignal;
  now?: () => number;
}): ConsoleSource {
  const file = zoneFile({ directory: config.directory, store });
  const zone = openLocalZone({ file, config: () => loadConfig(config), busyTimeoutMs });
  const place = localTaskPlace({ zone, signal });
  return {
    name: "this machine",
    place,
    async pictureOf({ task }) {
      const { id: requestId, call } = task;
      const taskId = call?.taskId;
      const taskIds = taskId === undefined ? [] : [taskId];
      const record = await readLocalRecord({ beside: file, requestId, taskIds });
      const seen = { execution: record.task, stepRecorder: steps?.() ?? [] };
      return { picture: createPicture({ requestId, task, ...seen, nowMs: now() }), note: record.note };
    },
    health: openHealth({ config, stage: undefined, executionPort, signal }),
    letters: createUndeliveredLetters({ place }),
    close: place.close,
  };
}

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openStageSource({
  config,
  stage,
  signal,
  now = Date.now,
}: {
  config: ConfigLocation;
  stage: string;
  signal: AbortSignal;
  now?: () => number;
}): Promise<ConsoleSource> {
  const file = loadConfig(config);
  const named = chooseStage(file, stage);
  const place = await taskPlace({ zone: await openStageZone({ config: file, stage, signal }), signal });
  return {
    name: `stage ${named.stageName}`,
    place,
    async pictureOf({ task }) {
      const { id: requestId, call } = task;
      const taskId = call?.taskId;
      const record = await readStageRecord({ named, requestId, taskIds: taskId === undefined ? [] : [taskId], signal });
      return { picture: createPicture({ requestId, task, execution: record.task, nowMs: now() }), note: record.note };
    },
    health: openHealth({ config, stage, executionPort: undefined, signal }),
    letters: createArchivedLetters({ named, place, signal }),
    close: place.close,
  };
}

function openHealth({
  config: place,
  stage,
  executionPort,
  signal,
}: {
  config: ConfigLocation;
  stage: string | undefined;
  executionPort: number | undefined;
  signal: AbortSignal;
}): HealthBoard {
  const port = executionPort ?? readEnvironment().executionPort;

  /** Never rejects. */
  async function checkByWorker({
    config,
    named,
    name,
  }: EffectiveConfig & { named: NamedStage; name: string }): Promise<DestinationCheck> {
    try {
      const outputs = await readStackOutputs({ ...named, signal });
      const [checked] = await checkInStage({ ...named, config, outputs, names: [name], signal });
      if (checked !== undefined) return checked;
      return { name, address: "unknown", health: "unhealthy", words: "The worker does not tell." };
    } catch (thrown) {
      const words = thrown instanceof AwsFailure ? thrown.message : "It cannot be checked.";
      return { name, address: "unknown", health: "unhealthy", words };
    }
  }

  return createHealthBoard({
    read: () => readEffectiveConfig({ place, stage, signal }),
    async check({ inForce, name }) {
      const destination = inForce.config.destinations[name];
      if (destination === undefined) return { name, address: "unknown", health: "unhealthy", words: "It is gone." };
      const { named } = inForce;
      if (named !== undefined) return checkByWorker({ ...inForce, named, name });
      return checkFromHere({ config: inForce.config, place, name, destination, executionPort: port, signal });
    },
    own: (inForce) =>
      inForce.named === undefined
        ? { address: `http://127.0.0.1:${port}/` }
        : { address: "the stage's own Execution zone", authorizer: "sigv4" },
  });
}
