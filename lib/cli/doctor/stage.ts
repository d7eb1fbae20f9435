/**
 * The table of checks of a stage on AWS. The operator's credentials look at the account. The deployed worker says what its role
 * can read, and calls the destinations.
 */

import { randomUUID } from "node:crypto";
import type { GetQueueAttributesRequest } from "@aws-sdk/client-sqs";
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import type { ConfigLocation } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { createStageConfig } from "../../../lambdas/shared/config/stage-config.ts";
import {
  type WorkerAnswer,
  workerAnswerSchema,
} from "../../../lambdas/verification/checks/operator-call.ts";
import { listStoredRules } from "../allow/rule-zone.ts";
import { callerIdentity, requireVerificationAccount } from "../aws/account.ts";
import { askWorker, workerTimeoutMs } from "../aws/ask-worker.ts";
import { type AwsCall, callAws } from "../aws/aws-failure.ts";
import { createReadTaskState } from "../aws/dead-letters/redrive.ts";
import { createReadStageSecret } from "../aws/own-aws.ts";
import { openSdkSqs } from "../aws/sdk-clients.ts";
import { readSecretState } from "../aws/secret-store.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import { listStageSecrets, type StageSecret } from "../aws/stage-secrets.ts";
import { checkInStage, stageDestinations } from "../destinations/check-in-stage.ts";
import { outdatedText, readEffectiveConfig } from "../destinations/effective-config.ts";
import { openStageZone } from "../zone/stage-zone.ts";
import { type CheckGroup, failed, need, ok, once, row, skipped, warning } from "./check.ts";
import { clockCheck, destinationClocks } from "./clock.ts";
import { askEntry } from "./http.ts";
import { toFinding } from "./machine.ts";
import { allowlistCheck, type Entry, entryChecks, tokenChecks } from "./slack.ts";

/** A healthy worker leaves no more messages than that for long. */
const manyWaiting = 100;

type StageRequest = {
  config: Config;
  named: NamedStage;
  location: ConfigLocation;
  signal: AbortSignal;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export async function createStageGroups({
  config,
  named,
  location,
  signal,
}: StageRequest): Promise<CheckGroup[]> {
  const { stageName, stage } = named;
  const { region } = stage.verification;
  const stageOption = ` --stage ${stageName}`;
  const deploy = `npx cdk deploy --all -c stage=${stageName}`;
  const staged = createStageConfig({ config, stageName });
  const readSecret = createReadStageSecret({ region });

  const caller = once(() => callerIdentity({ region, signal }));
  const ownAccount = once(() => requireVerificationAccount({ ...named, signal }));
  const outputs = once(() => readStackOutputs({ ...named, signal }));
  const effective = once(() => readEffectiveConfig({ location, stage: stageName, signal }));
  const credentials = need(caller, "Credentials are needed.");
  const stack = need(outputs, "The stack is missing, and names what this check needs.");
  const worker = async () => ({ ...named, config, outputs: await stack(), signal });
  const request = { operator: "check_worker" } as const;
  const askState = once(async () =>
    askWorker({ ...(await worker()), request, answerSchema: workerAnswerSchema }),
  );
  const askDestinations = once(async () => checkInStage(await worker()));
  const timeoutMs = workerTimeoutMs(config);
  const answeringWorker = need(askState, "The deployed worker does not answer.");
  const identity = async () => (await answeringWorker()).bot;
  const open = once(async (): Promise<Entry> => {
    const { signingSecret } = config.slack;
    return {
      url: (await stack()).eventsUrl,
      name: "The deployed entry",
      start: `Is this machine online, and is the stage deployed? ${deploy}.`,
      setSecret:
        "env" in signingSecret
          ? `${sekisho} secrets put --only ${signingSecret.env} --overwrite${stageOption}; it takes effect within a minute.`
          : "Put the app's own into Secrets Manager; it takes effect within a minute.",
      readLog: "Look at the log of the ingress, and at the alarms EntryErrors and IngressErrors.",
      mayLackSecret: false,
    };
  });
  const { entry, signingSecret } = entryChecks({
    reference: staged.slack.signingSecret,
    readSecret,
    open,
  });
  const entryClock = {
    who: "the deployed entry",
    skewMs: async () =>
      (await askEntry({ url: (await open()).url, challenge: randomUUID(), signal }))?.skewMs,
  };
  const destinations = await outputs().then(
    (known) => stageDestinations({ config, stageName, outputs: known }),
    () => undefined,
  );
  return [
    {
      group: `Stage ${stageName}`,
      checks: [
        row({
          name: "credentials",
          needs: async () => ownAccount().then(caller),
          check: ({ arn }) => ok(`${arn}, of the stage's Verification account.`),
        }),
        row({
          name: "stack",
          needs: need(ownAccount, "Credentials of the stage's account are needed."),
          async check() {
            await outputs();
            // The check of the live settings reports why they cannot be read.
            const notDeployed = (await effective().catch(() => undefined))?.notDeployed;
            if (notDeployed === undefined) return ok("It is deployed.");
            if (notDeployed.length === 0)
              return ok("It is deployed, with the destinations of the file.");
            const what = `The file has other settings than the stage for: ${notDeployed.join(", ")}.`;
            return warning(what, `Run ${deploy} to deploy the file.`);
          },
        }),
        row({
          name: "live settings",
          needs: stack,
          async check() {
            const { routesFromFile, outdated } = await effective();
            if (outdated.length > 0) {
              const remedy = `Run ${sekisho} config push${stageOption} from the folder of the deployed version.`;
              return warning(outdatedText(outdated), remedy);
            }
            return ok(
              routesFromFile
                ? "No routes were pushed: the deployed ones are in effect."
                : "Pushed routes are in effect.",
            );
          },
        }),
        row({
          name: "queue",
          needs: stack,
          async check({ queueUrl }) {
            const { waiting, inFlight, delayed } = await readDepth({ queueUrl, region, signal });
            const what = `Messages: ${waiting} waiting, ${inFlight} being handled, ${delayed} delayed.`;
            if (waiting <= manyWaiting) return ok(what);
            const remedy = `If there are not fewer soon, look at the alarms MessagesWait, WorkerErrors and WorkerThrottles, then at the worker's log. ${sekisho} tasks list${stageOption}`;
            return warning(what, remedy);
          },
        }),
        row({
          name: "dead letters",
          needs: stack,
          async check({ deadLettersUrl }) {
            const { waiting, inFlight } = await readDepth({
              queueUrl: deadLettersUrl,
              region,
              signal,
            });
            if (waiting + inFlight === 0) return ok("There are none.");
            const remedy = `${sekisho} dead-letters list${stageOption} lists them. Redrive them when the cause is fixed.`;
            const kept = waiting + inFlight;
            const what =
              kept === 1
                ? "1 message failed too often and is"
                : `${kept} messages failed too often and are`;
            return warning(`${what} kept.`, remedy);
          },
        }),
        row({
          name: "store",
          needs: stack,
          async check({ tableName }) {
            // A task that cannot exist: an answer is all that counts.
            await createReadTaskState({ tableName, region, signal })({ requestId: randomUUID() });
            return ok(`The table ${tableName} answers.`);
          },
        }),
        row({
          name: "worker",
          timeoutMs,
          needs: stack,
          check: async () => toWorkerFinding(await askState(), stageName),
        }),
        ...listStageSecrets({ config, ...named }).map((secret) =>
          row({
            name: `secret ${secret.env ?? secret.id}`,
            needs: credentials,
            check: ({ account }) => checkSecret({ secret, account, stageName, signal }),
          }),
        ),
        clockCheck({ trusted: [entryClock], others: destinationClocks(staged, signal) }),
      ],
    },
    {
      group: "Slack",
      checks: [
        ...tokenChecks({
          config: staged,
          identity,
          manifestCommand: `${sekisho} manifest${stageOption}`,
          timeoutMs,
        }),
        entry,
        signingSecret,
        allowlistCheck({
          config,
          added: () =>
            stack().then(async () =>
              listStoredRules(await openStageZone({ config, stage: stageName, signal })),
            ),
          stageOption,
        }),
      ],
    },
    {
      group: "Destinations",
      checks:
        destinations === undefined
          ? [
              {
                name: "destinations",
                run: async () => skipped("The stack is missing, and names them."),
              },
            ]
          : [
              ...destinations.deployed.map((name) =>
                row({
                  name,
                  // The two invocations follow each other: a new account may not allow two at once.
                  timeoutMs: 2 * timeoutMs,
                  needs: answeringWorker,
                  async check() {
                    const found = (await askDestinations()).find((each) => each.name === name);
                    if (found !== undefined) return toFinding(found, stageOption);
                    const remedy = `If a deploy is running, wait for it: ${sekisho} destinations check ${name}${stageOption}`;
                    return failed("The deployed worker does not know it.", remedy);
                  },
                }),
              ),
              ...destinations.missing.map((name) => ({
                name,
                run: async () => skipped("It is not deployed."),
              })),
            ],
    },
  ];
}

function toWorkerFinding({ store, queue, liveSettings }: WorkerAnswer, stageName: string) {
  const remedy = `npx cdk deploy --all -c stage=${stageName} restores the role's permissions; then look at the worker's log.`;
  const unreached = !store.ok
    ? `its table (${store.error})`
    : !queue.ok
      ? `its queue (${queue.error})`
      : undefined;
  if (unreached !== undefined)
    return failed(`The deployed worker cannot reach ${unreached}.`, remedy);
  if (liveSettings === "unreadable")
    return failed("The deployed worker cannot read the live settings.", remedy);
  if (liveSettings === "read") {
    return ok(
      "It answers; it could read its table, the attributes of its queue and the live settings.",
    );
  }
  const push = `${sekisho} config push --stage ${stageName} replaces them; until then the deployed or last good ones are in effect.`;
  return failed(
    "The deployed worker refuses the live settings: they do not fit what is deployed.",
    push,
  );
}

type SecretCheck = {
  secret: StageSecret;
  /** The account of the credentials. */
  account: string;
  stageName: string;
  signal: AbortSignal;
};

/** Looks for the secret, and does not read its value. */
async function checkSecret({ secret, account, stageName, signal }: SecretCheck) {
  const { id, purpose, zone, env, optional } = secret;
  const putCommand = `${sekisho} secrets put --stage ${stageName}`;
  if (account !== secret.account) {
    const profile = `AWS_PROFILE of ${secret.account} and ${putCommand} show it.`;
    return skipped(`${id} (${purpose}) belongs to the ${zone} account: ${profile}`);
  }
  const put = env === undefined ? "Its owner must write it." : putCommand;
  switch (await readSecretState({ ...secret, signal })) {
    case "present":
      return ok(`${id} (${purpose}) is there.`);
    case "deleted":
      return failed(
        `${id} is scheduled for deletion.`,
        `aws secretsmanager restore-secret --secret-id ${id}`,
      );
    case "empty":
      return failed(`${id} is there, but holds no value.`, put);
    case "absent":
      if (optional === true) return ok(`${id} is left out: workspaces get tokens of their own.`);
      return failed(`${id} (${purpose}) is missing.`, put);
  }
}

async function readDepth({ queueUrl, region, signal }: AwsCall & { queueUrl: string }) {
  const sqs = openSdkSqs({ region });
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
