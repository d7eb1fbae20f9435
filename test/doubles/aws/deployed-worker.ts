/** The worker function of a deployed stage, as far as operators invoke it, with the secrets of its account. */

import { withLiveSettings } from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig, withExecutionAddress } from "@sekisho/config/stage-config.ts";
import { operatorAlias } from "@sekisho/runtime/aws/operator-alias.ts";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import {
  createOperatorHandler,
  type OperatorDependencies,
} from "@sekisho/verification/checks/answer-operator.ts";
import { readOperatorRequest } from "@sekisho/verification/checks/operator-call.ts";
import { executionAddressSchema } from "@sekisho/verification/config/worker-environment.ts";
import { hangSignal } from "../../tooling/hang.ts";
import type { AwsServices } from "./json-services.ts";

/** The test can change what the role reaches and may read. */
export type DeployedWorker = {
  /** The ARN of the alias that operators invoke. */
  arn: string;
  canReach: { store: boolean; queue: boolean; liveSettings: boolean };
};

/** `json` is the deployed configuration. `readSettings` reads the live settings as the worker does. */
export function deployWorker({
  aws,
  json,
  stageName,
  executionAddress,
  readSettings,
}: {
  aws: AwsServices;
  json: unknown;
  stageName: string;
  executionAddress: string;
  readSettings: () => Promise<string | undefined>;
}): DeployedWorker {
  const worker: DeployedWorker = {
    arn: `arn:aws:lambda:eu-central-1:${aws.account}:function:worker-of-${stageName}:${operatorAlias}`,
    canReach: { store: true, queue: true, liveSettings: true },
  };
  const deployed = createStageConfig({ config: parseConfig({ json }), stageName });
  const address = executionAddressSchema.parse(JSON.parse(executionAddress));
  const refuse = async () =>
    Promise.reject(new AwsCallError({ name: "AccessDeniedException", status: 400 }));

  const readEffectiveConfig: OperatorDependencies["readEffectiveConfig"] = async () => {
    const joined = (settings: typeof deployed) =>
      withExecutionAddress({ config: settings, address });
    if (!worker.canReach.liveSettings)
      return { config: joined(deployed), liveSettings: "unreadable" };
    try {
      const value = (await readSettings()) ?? "{}";
      return {
        config: joined(withLiveSettings({ config: deployed, json: JSON.parse(value) })),
        liveSettings: "read",
      };
    } catch {
      return { config: joined(deployed), liveSettings: "refused" };
    }
  };
  const answer = createOperatorHandler({
    readEffectiveConfig,
    async readSecret(reference) {
      const id = "secretsManager" in reference ? reference.secretsManager : "";
      const value = aws.secrets.all.get(id)?.value;
      if (value === undefined)
        throw new AwsCallError({ name: "ResourceNotFoundException", status: 400 });
      return value;
    },
    slackApiUrl: deployed.slack.apiUrl,
    aws: {
      region: "eu-central-1",
      credentials: async () => ({ accessKeyId: "AKIDWORKER", secretAccessKey: "none" }),
    },
    probeStore: async () => (worker.canReach.store ? undefined : refuse()),
    probeQueue: async () => (worker.canReach.queue ? undefined : refuse()),
    log: silentLog,
  });
  aws.functions.set(worker.arn, async (event) => {
    const request = readOperatorRequest(event);
    if (request === undefined)
      throw Object.assign(new Error("no request"), { name: "UnknownEventError" });
    return answer({ request, remainingMs: 60_000, signal: hangSignal() });
  });
  return worker;
}
