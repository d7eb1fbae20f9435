/** The source of the page's data: one machine, or a stage on AWS. */
import { readEnvironment } from "@sekisho/config/environment.ts";
import { type ConfigLocation, loadConfig } from "@sekisho/config/load.ts";
import type { SlackConnection } from "@sekisho/local/both-zones.ts";
import {
  createRecordedTimeline,
  type FramedStep,
} from "@sekisho/local/recorder/recorded-timeline.ts";
import type { RecordedStep } from "@sekisho/local/recorder/step-recorder.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage, type NamedStage } from "../aws/stage.ts";
import { describeOwnExecution } from "../destinations/describe.ts";
import { type EffectiveConfig, readEffectiveConfig } from "../destinations/effective-config.ts";
import { checkFromHere, checkInStage, toUnknown } from "../doctor/destinations.ts";
import { slackConnectionOf } from "../names/connect.ts";
import { createSlackNames, type SlackNames } from "../names/slack-names.ts";
import { readExecutionRecord } from "../tasks/execution-record.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { openLocalTaskZone, openTaskZone } from "../tasks/task-zone.ts";
import type { ExecutionTarget } from "../zone/execution-store.ts";
import { openLocalZone } from "../zone/local-zone.ts";
import { openStageZone } from "../zone/stage-zone.ts";
import { zoneFile } from "../zone/zone.ts";
import {
  createArchivedDeadLetters,
  createUndeliveredAnswers,
  type DeadLetters,
} from "./dead-letters.ts";
import { createHealthBoard, type HealthBoard } from "./health.ts";

export type ConsoleSource = {
  /** In the page's head: "this machine", "stage prod". */
  name: string;
  zone: TaskZone;
  /** `note` says what is missing in the timeline, and why. */
  readTimeline(request: {
    task: Task;
  }): Promise<{ timeline: FramedStep[]; note?: string | undefined }>;
  health: HealthBoard;
  deadLetters: DeadLetters;
  names: SlackNames;
  close(): Promise<void>;
};

/** The server answers nobody while it waits for a lock, which a zone holds for about a millisecond. */
const busyTimeoutMs = 500;

export type LocalRun = {
  config: ConfigLocation;
  store?: string | undefined;
  executionPort?: number | undefined;
  /** The steps that the run of this process has recorded, with frames. */
  steps?: (() => readonly RecordedStep[]) | undefined;
  /** The fake Slack of this run. Without it, names come from the Slack of the configuration. */
  fakeSlack?: Pick<SlackConnection, "apiUrl" | "botToken"> | undefined;
};

/** Throws if there is no file of tasks. */
export function openLocalSource({
  signal,
  ...run
}: LocalRun & { signal: AbortSignal }): ConsoleSource {
  const { config, store, executionPort, steps, fakeSlack } = run;
  const file = zoneFile({ directory: config.directory, store });
  const localZone = openLocalZone({ file, config: () => loadConfig(config), busyTimeoutMs });
  const zone = openLocalTaskZone({ zone: localZone, signal });
  const connect = slackConnectionOf(localZone);
  return createSource({
    name: "this machine",
    zone,
    at: { file },
    names: fakeSlack === undefined ? createSlackNames({ connect }) : fakeNames(fakeSlack),
    health: openHealth({ config, stage: undefined, executionPort, signal }),
    deadLetters: createUndeliveredAnswers({ zone }),
    ...{ steps, signal },
  });
}

type StageOptions = { config: ConfigLocation; stage: string; signal: AbortSignal };

/** Rejects with what to do if the stage is unknown, not deployed, or in another account. */
export async function openStageSource({
  config,
  stage,
  signal,
}: StageOptions): Promise<ConsoleSource> {
  const file = loadConfig(config);
  const namedStage = chooseStage(file, stage);
  const stageZone = await openStageZone({ config: file, stage, signal });
  const zone = await openTaskZone({ zone: stageZone, signal });
  return createSource({
    name: `stage ${namedStage.stageName}`,
    zone,
    at: namedStage,
    names: createSlackNames({ connect: slackConnectionOf(stageZone) }),
    health: openHealth({ config, stage, executionPort: undefined, signal }),
    deadLetters: createArchivedDeadLetters({ named: namedStage, zone, signal }),
    signal,
  });
}

/** Without links, because those of the fake Slack lead nowhere. */
function fakeNames({ apiUrl, botToken }: NonNullable<LocalRun["fakeSlack"]>): SlackNames {
  const names = createSlackNames({
    connect: async () => ({ token: (await botToken()) ?? "", apiUrl }),
  });
  return { ...names, find: (wantedNames) => names.find({ ...wantedNames, threads: [] }) };
}

type SourceParts = Omit<ConsoleSource, "readTimeline" | "close"> & {
  at: ExecutionTarget;
  steps?: LocalRun["steps"];
  signal: AbortSignal;
};

function createSource({ at, steps, signal, ...parts }: SourceParts): ConsoleSource {
  return {
    ...parts,
    async readTimeline({ task }) {
      const { task: execution, note } = await readExecutionRecord({ at, task, signal });
      const sources = { task, execution, steps: steps?.() ?? [], nowMs: Date.now() };
      return { timeline: createRecordedTimeline(sources), note };
    },
    async close() {
      parts.names.close();
      await parts.zone.close();
    },
  };
}

type HealthSource = {
  config: ConfigLocation;
  stage: string | undefined;
  executionPort: number | undefined;
  signal: AbortSignal;
};

function openHealth({ config: location, stage, executionPort, signal }: HealthSource): HealthBoard {
  const port = executionPort ?? readEnvironment().executionPort;

  /** Resolves to undefined if the worker's answer leaves out the destination. */
  async function checkByWorker(
    name: string,
    { config, named }: EffectiveConfig & { named: NamedStage },
  ) {
    const outputs = await readStackOutputs({ ...named, signal });
    const [check] = await checkInStage({ ...named, config, outputs, names: [name], signal });
    return check;
  }

  return createHealthBoard({
    read: () => readEffectiveConfig({ location, stage, signal }),
    async check({ effective, name }) {
      const { named, config } = effective;
      if (named === undefined)
        return checkFromHere({ config, location, name, executionPort: port, signal });
      try {
        return (
          (await checkByWorker(name, { ...effective, named })) ??
          toUnknown(name, "The worker did not report on it.")
        );
      } catch (error) {
        const why = error instanceof AwsFailure ? error.message : "It cannot be checked.";
        return toUnknown(name, why);
      }
    },
    own: describeOwnExecution({ isStage: stage !== undefined, port }),
  });
}
