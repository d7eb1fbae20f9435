/** Checks the destinations of a stage by its deployed worker, with its role, its secrets and the live settings. */
import { toAddress } from "../../../lambdas/shared/config/destination-address.ts";
import { listUndeployedChanges } from "../../../lambdas/shared/config/live-settings.ts";
import { createStageConfig } from "../../../lambdas/shared/config/stage-config.ts";
import type { DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { destinationsAnswerSchema } from "../../../lambdas/verification/checks/operator-call.ts";
import { askWorker, type DeployedWorker } from "../aws/ask-worker.ts";
import { fingerprintsIn } from "../aws/push-live-settings.ts";

/**
 * Compares the destinations of the file with the deployed ones. `missing` are not deployed. `changed` are deployed with other
 * settings, which need a deploy. Throws an AwsFailure if the stack's list of deployed destinations cannot be read.
 */
export function stageDestinations({ config, stageName, outputs }: Omit<DeployedWorker, "stage">) {
  const deployed = fingerprintsIn(outputs.deployedDestinations);
  const isDeployed = (name: string) => Object.hasOwn(deployed, name);
  const undeployed = listUndeployedChanges({
    config: createStageConfig({ config, stageName }),
    deployed,
  });
  return {
    deployed: Object.keys(deployed),
    missing: undeployed.filter((name) => !isDeployed(name)),
    changed: undeployed.filter(isDeployed),
  };
}

type StageCheck = DeployedWorker & { names?: readonly string[] | undefined; signal: AbortSignal };

/** Without `names`, checks all deployed destinations. Rejects with an AwsFailure if the worker cannot be invoked. */
export async function checkInStage({ names, ...worker }: StageCheck): Promise<DestinationCheck[]> {
  const { config, stageName } = worker;
  const request = { operator: "check_destinations" as const, ...(names && { names: [...names] }) };
  const { checked, unknown } = await askWorker({
    ...worker,
    request,
    answerSchema: destinationsAnswerSchema,
  });
  const summary = `It is not deployed. npx cdk deploy --all -c stage=${stageName} deploys it.`;
  return [
    ...checked,
    ...unknown.map((name): DestinationCheck => {
      const destination = Object.hasOwn(config.destinations, name)
        ? config.destinations[name]
        : undefined;
      return {
        name,
        address: (destination && toAddress(destination)) ?? "unknown",
        health: "unhealthy",
        summary,
      };
    }),
  ];
}
