/** Checks destinations: from this machine with the secrets of its environment, or by the deployed worker of a stage. */

import { join } from "node:path";
import { isOwnExecution, readAudience, toAddress } from "@sekisho/config/destination-address.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { listUndeployedChanges } from "@sekisho/config/live-settings.ts";
import { type ConfigLocation, configDirectory } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { openLocalAskerTokens } from "@sekisho/local/asker-keys.ts";
import { openDestination } from "@sekisho/local/open-destination.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import {
  checkDestination,
  type DestinationCheck,
} from "@sekisho/verification/checks/check-destination.ts";
import { destinationsAnswerSchema } from "@sekisho/verification/checks/operator-call.ts";
import { askWorker, type DeployedWorker } from "../aws/ask-worker.ts";
import { startOwnExecution } from "../destinations/describe.ts";
import { fingerprintsIn } from "../destinations/push-live-settings.ts";
import { type Finding, failure, ok, parseFailure } from "./check.ts";
import { explainProtected } from "./protected-resource.ts";
import { explainPublished } from "./published.ts";

type CheckRequest = {
  config: Config;
  /** Paths of the configuration are relative to its folder. */
  location: ConfigLocation;
  name: string;
  /** The port of a destination without an address. */
  executionPort?: number | undefined;
  signal: AbortSignal;
};

/** Never rejects: the reason that a destination cannot be called is part of the result. */
export async function checkFromHere(request: CheckRequest): Promise<DestinationCheck> {
  const { config, location, name, signal } = request;
  const { executionPort, logLevel } = readEnvironment();
  const port = request.executionPort ?? executionPort;
  const destination = config.destinations[name];
  if (destination === undefined) return toUnknown(name, "It is not in the configuration.");
  const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
  const isOwn = isOwnExecution(destination);
  const result = await checkDestination({
    name,
    destination,
    address: toAddress(destination) ?? (isOwn ? `http://127.0.0.1:${port}/` : undefined),
    timeoutMs: config.limits.callTimeoutMs,
    readSecret,
    open: () =>
      openDestination({
        config,
        name,
        directory: configDirectory(location),
        executionPort: port,
        log,
      }),
    signal,
  });
  if (!isOwn) {
    const { asker } = config;
    const compared = await explainProtected({ result, destination, asker, signal });
    if (compared !== result || destination.transport !== "https") return compared;
    const dataFolder = join(configDirectory(location), ".sekisho");
    const tokens = openLocalAskerTokens({ asker: config.asker, dataFolder });
    const to = { audience: readAudience(destination), claims: [], subject: "slack" as const };
    return explainPublished({
      ...{ result, authorizer: destination.authorizer, signal },
      asker: tokens && { tokens, to },
    });
  }
  const isDown = isOwn && result.health === "unreachable";
  return isDown ? { ...result, summary: `${result.summary} ${startOwnExecution}` } : result;
}

type StageCheck = DeployedWorker & { names?: readonly string[]; signal: AbortSignal };

/** Without `names`, checks all deployed destinations. Rejects with an AwsFailure if the worker cannot be invoked. */
export async function checkInStage({ names, ...worker }: StageCheck): Promise<DestinationCheck[]> {
  const request = { operator: "check_destinations" as const, ...(names && { names: [...names] }) };
  const answerSchema = destinationsAnswerSchema;
  return (await askWorker({ ...worker, request, answerSchema })).checked;
}

export function toUnknown(name: string, summary: string): DestinationCheck {
  return { name, address: "unknown", health: "unhealthy", summary };
}

/**
 * Compares the destinations of the file with the deployed ones. `missing` are not deployed. `changed` are deployed with other
 * settings, which need a deploy. Throws an AwsFailure if the stack's list of deployed destinations cannot be read.
 */
export function stageDestinations({ config, stageName, outputs }: Omit<DeployedWorker, "stage">) {
  const deployedFingerprints = fingerprintsIn(outputs.deployedDestinations);
  const isDeployed = (name: string) => Object.hasOwn(deployedFingerprints, name);
  const stageConfig = createStageConfig({ config, stageName });
  const undeployed = listUndeployedChanges({ config: stageConfig, deployed: deployedFingerprints });
  return {
    deployed: Object.keys(deployedFingerprints),
    missing: undeployed.filter((name) => !isDeployed(name)),
    changed: undeployed.filter(isDeployed),
  };
}

export function toFinding(check: DestinationCheck, stageOption = ""): Finding {
  const { name, address, health, summary, firstMs, secondMs } = check;
  const times = firstMs === undefined ? "" : `, first call ${firstMs} ms, second ${secondMs} ms`;
  const withAddress = (text: string) => `${text.replace(/\.$/, "")} (${address}${times}).`;
  if (health === "healthy") return ok(withAddress(summary));
  const { what, remedy } = parseFailure(summary);
  const again = `Check it and its address, then run ${sekisho} doctor --destination ${name}${stageOption}.`;
  return failure(withAddress(what), remedy ?? again);
}
