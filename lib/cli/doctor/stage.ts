/** The checks of a stage on AWS alone. */
import type { GetQueueAttributesRequest } from "@aws-sdk/client-sqs";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { requireVerificationAccount } from "../aws/account.ts";
import { callAws } from "../aws/aws-failure.ts";
import { openSdkSqs } from "../aws/sdk-clients.ts";
import { readSecretState, type SecretState } from "../aws/secret-store.ts";
import { listStageSecrets } from "../aws/stage-secrets.ts";
import { outdatedText } from "../destinations/effective-config.ts";
import { type Finding, failure, need, ok, warning } from "./check.ts";
import { noStackText } from "./open-stage.ts";
import type { DeployedStage } from "./targets.ts";

export async function checkCaller({ caller, ...namedStage }: DeployedStage): Promise<Finding> {
  await requireVerificationAccount(namedStage);
  return ok(`${(await caller()).arn}, of the stage's Verification account.`);
}

export async function checkStack(target: DeployedStage): Promise<Finding> {
  const { outputs, effective } = target;
  await need(checkCaller(target), "Credentials of the stage's account are needed.");
  await outputs();
  // The check of the live settings reports why they cannot be read.
  const notDeployed = (await effective().catch(() => undefined))?.notDeployed;
  if (notDeployed === undefined) return ok("It is deployed.");
  if (notDeployed.length === 0) return ok("It is deployed, with the destinations of the file.");
  return warning(`The file has other settings than the stage for: ${notDeployed.join(", ")}.`);
}

export async function checkLiveSettings({ outputs, effective }: DeployedStage): Promise<Finding> {
  await need(outputs(), noStackText);
  const { routesFromFile, outdated } = await effective();
  if (outdated.length > 0) return warning(outdatedText(outdated));
  return ok(
    routesFromFile
      ? "No routes were pushed: the deployed ones are in effect."
      : "Pushed routes are in effect.",
  );
}

/** A healthy worker leaves no more messages than that for long. */
const manyWaiting = 100;

export async function checkQueue(target: DeployedStage): Promise<Finding> {
  const { queueUrl } = await need(target.outputs(), noStackText);
  const { waiting, inFlight, delayed } = await readDepth(target, queueUrl);
  const what = `Messages: ${waiting} waiting, ${inFlight} being handled, ${delayed} delayed.`;
  return waiting <= manyWaiting ? ok(what) : warning(what);
}

export async function checkDeadLetters(target: DeployedStage): Promise<Finding> {
  const { deadLettersUrl } = await need(target.outputs(), noStackText);
  const { waiting, inFlight } = await readDepth(target, deadLettersUrl);
  const count = waiting + inFlight;
  if (count === 0) return ok("There are none.");
  const messages = count === 1 ? "1 message is" : `${count} messages are`;
  return warning(`${messages} kept, because they failed too often.`);
}

/** Only the worker can tell what its role reaches. */
export async function checkWorker({ worker, outputs, stageName }: DeployedStage): Promise<Finding> {
  await need(outputs(), noStackText);
  const { store, queue, liveSettings } = await worker();
  if (!store.ok) return failure(`The deployed worker cannot reach its table (${store.error}).`);
  if (!queue.ok) return failure(`The deployed worker cannot reach its queue (${queue.error}).`);
  if (liveSettings === "unreadable")
    return failure("The deployed worker cannot read the live settings.");
  if (liveSettings === "read")
    return ok("It answers; it could read its table, its queue's attributes and the live settings.");
  const what = "The deployed worker refuses the live settings: they do not fit what is deployed.";
  const push = `${sekisho} config push --stage ${stageName} replaces them; until then the deployed or last good ones are in effect.`;
  return failure(what, push);
}

const secretTexts: Record<Exclude<SecretState, "present">, string> = {
  absent: "is missing",
  empty: "is there, but holds no value",
  deleted: "is scheduled for deletion (aws secretsmanager restore-secret --secret-id restores it)",
};

/** Looks for the secrets in the account of the credentials, and does not read their values. */
export async function checkSecrets(target: DeployedStage): Promise<Finding> {
  const { config, stageName, stage, caller, signal } = target;
  const { account } = await need(caller(), "Credentials are needed.");
  const secrets = listStageSecrets({ config, stageName, stage });
  const own = secrets.filter((secret) => secret.account === account);
  const problems = await Promise.all(
    own.map(async (secret) => {
      const state = await readSecretState({ ...secret, signal });
      const isLeftOut = state === "absent" && secret.optional === true;
      if (state === "present" || isLeftOut) return [];
      return [`${secret.id} (${secret.purpose}) ${secretTexts[state]}.`];
    }),
  );
  const others = secrets
    .filter((secret) => secret.account !== account)
    .map(({ id, zone }) => `${id} of the ${zone} account`);
  const unseenNote =
    others.length === 0
      ? ""
      : ` Not looked at, because these credentials are of ${account}: ${others.join(", ")}.`;
  if (problems.flat().length > 0) return failure(`${problems.flat().join(" ")}${unseenNote}`);
  return ok(`All are there: ${own.map(({ id }) => id).join(", ")}.${unseenNote}`);
}

async function readDepth({ stage, signal }: DeployedStage, queueUrl: string) {
  const sqs = openSdkSqs({ region: stage.verification.region });
  const input: GetQueueAttributesRequest = {
    QueueUrl: queueUrl,
    AttributeNames: [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
    ],
  };
  try {
    const { Attributes = {} } = await callAws({
      doing: "read how many messages are in a queue",
      signal,
      call: ({ abortSignal }) => sqs.call("GetQueueAttributes", input, { signal: abortSignal }),
    });
    return {
      waiting: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      inFlight: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    };
  } finally {
    sqs.destroy();
  }
}
