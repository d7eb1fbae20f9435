/** Is the stage deployed, and as the file has it? */

import { randomUUID } from "node:crypto";
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { sqsSettings } from "../../../../lambdas/shared/engine/aws/client.ts";
import type { Reach, WorkerAnswer } from "../../../../lambdas/verification/checks/operator-call.ts";
import { callAws } from "../../aws/aws-failure.ts";
import { createReadTaskState } from "../../aws/dead-letters/task-state.ts";
import type { StackOutputs } from "../../aws/stack-outputs.ts";
import { type EffectiveConfig, outdatedText } from "../../destinations/effective-config.ts";
import { type Check, type Finding, failedFinding, okFinding, warningFinding } from "../check.ts";

/** `outputs` rejects with what to do where there is no stack; of `inForce`, another check tells. */
export function stack({
  stageName,
  outputs,
  inForce,
}: {
  stageName: string;
  outputs: () => Promise<StackOutputs>;
  inForce: () => Promise<EffectiveConfig>;
}): Check {
  return {
    name: "stack",
    async run() {
      await outputs();
      const known = await inForce().catch(() => undefined);
      if (known === undefined) return okFinding("It is deployed.");
      const { notDeployed } = known;
      if (notDeployed.length === 0) return okFinding("It is deployed, with the destinations of the file.");
      const what = `Not deployed as the file has them: ${notDeployed.join(", ")}.`;
      return warningFinding(what, `npx cdk deploy --all -c stage=${stageName}, if the file is what you want.`);
    },
  };
}

// Are the credentials at hand of the account that the stage names?

/** `own` rejects with what to do where they are of another account. */
export function awsAccount({
  own,
  caller,
}: {
  own: () => Promise<void>;
  caller: () => Promise<{ arn: string }>;
}): Check {
  return {
    name: "credentials",
    async run() {
      await own();
      const { arn } = await caller();
      return okFinding(`${arn}, of the stage's Verification account.`);
    },
  };
}

// Does the stage's table answer? It is asked for a task that cannot be.

export function taskTableCheck({
  region,
  outputs,
  newId = randomUUID,
}: {
  region: string;
  outputs: () => Promise<StackOutputs>;
  newId?: () => string;
}): Check {
  return {
    name: "store",
    async run({ signal }) {
      const { tableName } = await outputs();
      await createReadTaskState({ tableName, region, signal })({ requestId: newId() });
      return okFinding(`The table ${tableName} answers.`);
    },
  };
}

// How much waits in the queues of a stage. Nothing is put in, and nothing taken out.

/** More than a healthy worker leaves for longer than a moment. */
const manyWaiting = 100;

type StageQueue = { stageName: string; region: string; outputs: () => Promise<StackOutputs> };

export function stageQueue({ stageName, region, outputs }: StageQueue): Check {
  return {
    name: "queue",
    async run({ signal }) {
      const { queueUrl } = await outputs();
      const { waiting, underWay, delayed } = await depthOf({ queueUrl, region, signal });
      const what = `${waiting} messages wait, ${underWay} are worked at, ${delayed} are for later.`;
      if (waiting <= manyWaiting) return okFinding(what);
      const remedy = `If they do not get fewer: the alarms MessagesWait, WorkerErrors and WorkerThrottles, then the worker's log. npx sekisho tasks list --stage ${stageName}`;
      return warningFinding(what, remedy);
    },
  };
}

export function deadLetters({ stageName, region, outputs }: StageQueue): Check {
  return {
    name: "dead letters",
    async run({ signal }) {
      const { deadLettersUrl } = await outputs();
      const { waiting, underWay } = await depthOf({ queueUrl: deadLettersUrl, region, signal });
      const kept = waiting + underWay;
      if (kept === 0) return okFinding("None are kept.");
      const remedy = `npx sekisho dead-letters list --stage ${stageName}, and when the cause is gone, redrive.`;
      return warningFinding(`${kept} are kept: messages that the workers gave up on.`, remedy);
    },
  };
}

type Depth = { waiting: number; underWay: number; delayed: number };

async function depthOf({
  queueUrl,
  region,
  signal,
}: {
  queueUrl: string;
  region: string;
  signal: AbortSignal;
}): Promise<Depth> {
  const sqs = new SQSClient({ ...sqsSettings, region });
  const command = new GetQueueAttributesCommand({
    QueueUrl: queueUrl,
    AttributeNames: [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
    ],
  });
  try {
    const { Attributes = {} } = await callAws({
      doing: "look how much waits in a queue",
      signal,
      call: (options) => sqs.send(command, options),
    });
    return {
      waiting: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      underWay: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    };
  } finally {
    sqs.destroy();
  }
}

// Can the parameter of the live settings be read, and does it hold some?

/** `inForce` has read it, and rejects with what to do where that cannot be used. */
export function liveSettings({ inForce }: { inForce: () => Promise<EffectiveConfig> }): Check {
  return {
    name: "live settings",
    async run() {
      const { routesFromFile, outdated, named } = await inForce();
      if (outdated.length > 0) {
        const command = `npx sekisho config push --stage ${named?.stageName}`;
        return warningFinding(outdatedText(outdated), `Run ${command} from the folder of the deployed version.`);
      }
      return okFinding(
        routesFromFile ? "No routes were pushed: those that were deployed hold." : "Pushed routes hold.",
      );
    },
  };
}

// Can the deployed worker do its work: does it answer, and can it read what every task needs? Writing and sending are not tried.

/** `ask` rejects with what to do where the worker does not answer. */
export function workerCheck({
  ask,
  stageName,
  timeoutMs,
}: {
  ask: () => Promise<WorkerAnswer>;
  stageName: string;
  timeoutMs: number;
}): Check {
  return {
    name: "worker",
    timeoutMs,
    async run() {
      const { store, queue, liveSettings } = await ask();
      return (
        unreached({ what: "its table", reach: store, stageName }) ??
        unreached({ what: "its queue", reach: queue, stageName }) ??
        settingsFinding({ liveSettings, stageName }) ??
        okFinding("It answers; it could read its table, the attributes of its queue and the live settings.")
      );
    },
  };
}

function unreached({ what, reach, stageName }: { what: string; reach: Reach; stageName: string }): Finding | undefined {
  if (reach.ok) return undefined;
  const remedy = `npx cdk deploy --all -c stage=${stageName} restores the role's permissions; then look at the worker's log.`;
  return failedFinding(`The deployed worker does not reach ${what} (${reach.error}).`, remedy);
}

function settingsFinding({
  liveSettings,
  stageName,
}: Pick<WorkerAnswer, "liveSettings"> & { stageName: string }): Finding | undefined {
  if (liveSettings === "read") return undefined;
  if (liveSettings === "refused") {
    const remedy = `npx sekisho config push --stage ${stageName} replaces them; until then what was deployed, or was good last, holds.`;
    return failedFinding("The deployed worker refuses the live settings: they do not fit what is deployed.", remedy);
  }
  const remedy = `npx cdk deploy --all -c stage=${stageName} restores the role's permissions; then look at the worker's log.`;
  return failedFinding("The deployed worker cannot read the live settings.", remedy);
}
