/** The destinations of a stage, as its deployed worker finds them: with its role, its secrets and the live settings. */
import { toAddress } from "../../../lambdas/shared/config/destination-address.ts";
import { listUndeployedChanges } from "../../../lambdas/shared/config/live-settings.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { createStageConfig } from "../../../lambdas/shared/config/stage-config.ts";
import type { DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { destinationsAnswerSchema } from "../../../lambdas/verification/checks/operator-call.ts";
import { askWorker, type DeployedWorker } from "../aws/ask-worker.ts";
import { fingerprintsIn } from "../aws/push-live-settings.ts";
import type { StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";

export type StageDestinations = {
  /** Deployed, by name. */
  deployed: string[];
  /** Destinations that are in the file and not deployed. */
  missing: string[];
  /** Deployed, but the file says something else that needs a deploy. */
  changed: string[];
};

/** `config` is what the file says. Throws an AwsFailure where the stack does not tell what was deployed. */
export function stageDestinations({
  config,
  stageName,
  outputs,
}: {
  config: Config;
  stageName: string;
  outputs: StackOutputs;
}): StageDestinations {
  const staged = createStageConfig({ config, stageName });
  const fingerprints = fingerprintsIn(outputs.deployedDestinations);
  const isDeployed = (name: string) => Object.hasOwn(fingerprints, name);
  const needing = listUndeployedChanges({ config: staged, deployed: fingerprints });
  return {
    deployed: Object.keys(fingerprints),
    missing: needing.filter((name) => !isDeployed(name)),
    changed: needing.filter(isDeployed),
  };
}

export function deployedWorker({
  config,
  stageName,
  stage,
  outputs,
}: NamedStage & { config: Config; outputs: StackOutputs }): DeployedWorker {
  const { region } = stage.verification;
  return { stageName, region, workerFunction: outputs.workerFunction, leaseMs: config.limits.leaseMs };
}

/** All that are deployed where `names` is undefined. Rejects with an AwsFailure where the worker cannot be asked. */
export async function checkInStage({
  worker,
  names,
  config,
  signal,
}: {
  worker: DeployedWorker;
  names?: readonly string[] | undefined;
  /** The configuration of the file, for the addresses of destinations that are not deployed. */
  config: Config;
  signal: AbortSignal;
}): Promise<DestinationCheck[]> {
  const request = { operator: "check_destinations" as const, ...(names && { names: [...names] }) };
  const { checked, unknown } = await askWorker({ worker, request, answerSchema: destinationsAnswerSchema, signal });
  return [...checked, ...unknown.map((name) => notDeployed({ name, config, stageName: worker.stageName }))];
}

function notDeployed({
  name,
  config,
  stageName,
}: {
  name: string;
  config: Config;
  stageName: string;
}): DestinationCheck {
  const destination = Object.hasOwn(config.destinations, name) ? config.destinations[name] : undefined;
  const address = (destination && toAddress(destination)) ?? "unknown";
  const words = `It is not deployed. npx cdk deploy --all -c stage=${stageName} deploys it.`;
  return { name, address, health: "unhealthy", words };
}
