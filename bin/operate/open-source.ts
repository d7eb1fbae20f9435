/** The page's source on one machine, and of a stage on AWS. */
import { join, resolve } from "node:path";
import { type ConfigPlace, loadConfig } from "../../lambdas/shared/config/load.ts";
import { chooseStage } from "../aws/stage.ts";
import { checkDestination } from "../destinations/check.ts";
import { configInForce, type InForce } from "../destinations/in-force.ts";
import { surroundingsOf } from "../destinations/surroundings.ts";
import type { Step } from "../local/journey/journey.ts";
import { openAwsPlace } from "../tasks/aws-place.ts";
import { openLocalPlace } from "../tasks/local-place.ts";
import { readLocalRecord, readStageRecord } from "../trace/execution-record.ts";
import { pictureOf } from "../trace/picture.ts";
import { createHealthBoard, type HealthBoard } from "./health.ts";
import { archivedLetters } from "./letters/archived.ts";
import { undeliveredLetters } from "./letters/undelivered.ts";
import type { Source } from "./source.ts";

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
  config: ConfigPlace;
  store?: string | undefined;
  executionPort?: number | undefined;
  steps?: (() => readonly Step[]) | undefined;
  signal: AbortSignal;
  now?: () => number;
}): Source {
  const { directory } = config;
  const place = openLocalPlace({ directory, file: store, busyTimeoutMs, signal });
  const file = store === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, store);
  return {
    name: "this machine",
    place,
    async pictureOf({ task }) {
      const { id: requestId, taskId } = task;
      const taskIds = taskId === undefined ? [] : [taskId];
      const record = await readLocalRecord({ beside: file, requestId, taskIds });
      const seen = { execution: record.task, journey: steps?.() ?? [] };
      return { picture: pictureOf({ requestId, task, ...seen, nowMs: now() }), note: record.note };
    },
    health: openHealth({ config, stage: undefined, executionPort, signal }),
    letters: undeliveredLetters({ place }),
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
  config: ConfigPlace;
  stage: string;
  signal: AbortSignal;
  now?: () => number;
}): Promise<Source> {
  const file = loadConfig(config);
  const named = chooseStage(file, stage);
  const place = await openAwsPlace({ config: file, stage, signal });
  return {
    name: `stage ${named.stageName}`,
    place,
    async pictureOf({ task }) {
      const { id: requestId, taskId } = task;
      const record = await readStageRecord({ named, requestId, taskIds: taskId === undefined ? [] : [taskId], signal });
      return { picture: pictureOf({ requestId, task, execution: record.task, nowMs: now() }), note: record.note };
    },
    health: openHealth({ config, stage, executionPort: undefined, signal }),
    letters: archivedLetters({ named, place, signal }),
    close: place.close,
  };
}

function openHealth({
  config: place,
  stage,
  executionPort,
  signal,
}: {
  config: ConfigPlace;
  stage: string | undefined;
  executionPort: number | undefined;
  signal: AbortSignal;
}): HealthBoard {
  function surroundings({ config, named }: InForce) {
    const found = surroundingsOf({ config, named, place, signal });
    return executionPort === undefined ? found : { ...found, executionPort };
  }
  return createHealthBoard({
    read: () => configInForce({ place, stage, signal }),
    async check({ inForce, name }) {
      const destination = inForce.config.destinations[name];
      if (destination === undefined) return { name, address: "unknown", health: "unhealthy", words: "It is gone." };
      return checkDestination({ ...surroundings(inForce), name, destination });
    },
    own: (inForce) =>
      inForce.named === undefined
        ? { address: `http://127.0.0.1:${surroundings(inForce).executionPort}/` }
        : { address: "the stage's own Execution zone", authorizer: "sigv4" },
  });
}
