/**
 * A stage on AWS as the checks see it. The operator's credentials look at the account. The deployed worker says what its role
 * can read, and calls the destinations.
 */

import { isOwnExecution } from "@sekisho/config/destination-address.ts";
import type { ConfigLocation } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { createReadOperatorSecret } from "@sekisho/local/own-aws.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { workerAnswerSchema } from "@sekisho/verification/checks/operator-call.ts";
import { listStoredRules } from "../allow/rule-zone.ts";
import { callerIdentity } from "../aws/account.ts";
import { askWorker } from "../aws/ask-worker.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import { readEffectiveConfig } from "../destinations/effective-config.ts";
import { openStageZone } from "../zone/stage-zone.ts";
import { type Finding, failure, need, once, skip } from "./check.ts";
import { checkInStage, stageDestinations, toFinding } from "./destinations.ts";
import { askEntry, destinationClocks } from "./entry.ts";
import { explainProtected } from "./protected-resource.ts";
import type { DeployedStage, Entry } from "./targets.ts";

type StageOptions = NamedStage & { config: Config; location: ConfigLocation; signal: AbortSignal };

export const noStackText = "The stack is missing, and names what this check needs.";

/** Never rejects: what cannot be read rejects when a check needs it. */
export async function openStage(options: StageOptions): Promise<DeployedStage> {
  const { config, stageName, stage, location, signal } = options;
  const { region } = stage.verification;
  const stageOption = ` --stage ${stageName}`;
  const deploy = `npx cdk deploy --all -c stage=${stageName}`;
  const stageConfig = createStageConfig({ config, stageName });
  const outputs = once(() => readStackOutputs({ stageName, stage, signal }));
  const readWorker = async () => ({
    ...{ stageName, stage, config, signal },
    outputs: await need(outputs(), noStackText),
  });
  const worker = once(async () =>
    askWorker({
      ...(await readWorker()),
      request: { operator: "check_worker" },
      answerSchema: workerAnswerSchema,
    }),
  );
  const checkedDestinations = once(async () => checkInStage(await readWorker()));
  const noWorkerText = "The deployed worker does not answer.";
  const entry = once(async () => {
    const { eventsUrl: url } = await need(outputs(), noStackText);
    return describeEntry({ url, config, deploy, stageOption });
  });
  const destinations = await outputs().then(
    (stackOutputs) => stageDestinations({ config, stageName, outputs: stackOutputs }),
    () => undefined,
  );

  async function checkDestination(name: string): Promise<Finding> {
    if (destinations === undefined) return skip("The stack is missing, and names them.");
    if (destinations.missing.includes(name)) return skip("It is not deployed.");
    // The two invocations follow each other, because a new account may not allow two at once.
    await need(worker(), noWorkerText);
    const result = (await checkedDestinations()).find((each) => each.name === name);
    const destination = stageConfig.destinations[name];
    const { asker } = config;
    const check =
      result && destination && !isOwnExecution(destination)
        ? await explainProtected({ result, destination, asker, signal })
        : result;
    if (check === undefined)
      return failure(
        "The deployed worker does not know it.",
        "If a deploy is running, wait for it.",
      );
    const finding = toFinding(check, stageOption);
    if (!destinations.changed.includes(name)) return finding;
    return { ...finding, what: `${finding.what} The file has other settings for it: ${deploy}` };
  }

  return {
    ...{
      stageName,
      stage,
      config: stageConfig,
      stageOption,
      deploy,
      outputs,
      worker,
      entry,
      signal,
    },
    manifestCommand: `${sekisho} manifest${stageOption}`,
    hasSlack: true,
    readSecret: createReadOperatorSecret({ region }),
    caller: once(() => callerIdentity({ region, signal })),
    effective: once(() => readEffectiveConfig({ location, stage: stageName, signal })),
    bot: async () => (await need(worker(), noWorkerText)).bot,
    async storedRules() {
      await need(outputs(), noStackText);
      return listStoredRules(await openStageZone({ config, stage: stageName, signal }));
    },
    clocks: [
      {
        who: "the deployed entry",
        isTrusted: true,
        skewMs: async () => (await askEntry({ url: (await entry()).url, signal }))?.skewMs,
      },
      ...destinationClocks(stageConfig, signal),
    ],
    destinations:
      destinations === undefined
        ? ["destinations"]
        : [...destinations.deployed, ...destinations.missing],
    checkDestination,
  };
}

type EntryOptions = { url: string; config: Config; deploy: string; stageOption: string };

function describeEntry({ url, config, deploy, stageOption }: EntryOptions): Entry {
  const { signingSecret } = config.slack;
  const put =
    "env" in signingSecret
      ? `${sekisho} secrets put --only ${signingSecret.env} --overwrite${stageOption}`
      : "Put the app's own into Secrets Manager";
  return {
    url,
    name: "The deployed entry",
    start: `Is this machine online, and is the stage deployed? ${deploy}.`,
    setSecret: `${put}; it takes effect within a minute.`,
    readLog: "Look at the log of the ingress, and at the alarms EntryErrors and IngressErrors.",
    mayLackSecret: false,
  };
}
