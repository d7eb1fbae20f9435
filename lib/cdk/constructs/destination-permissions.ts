/** The permissions that the Verification zone needs to call its own Execution zone and the destinations of the configuration. */

import { listAuthorizerSecrets } from "@sekisho/config/authorizer-needs.ts";
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import {
  isOwnExecution,
  listAddresses,
  protocolOf,
  resolveAuthorizerConfig,
} from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { Stack } from "aws-cdk-lib";
import type { IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { ExecutionEntry } from "../stage-settings.ts";
import {
  invokeFunctionUrl,
  invokeRuntime,
  invokeSigned,
  listSignedResources,
  permitCredentials,
} from "./authorizer-permissions.ts";
import { acknowledgeWildcards, permit, shownPartition } from "./permissions.ts";

/** Lets the role call every destination. For a destination in another account, that account's policies must allow it too. */
export function permitDestinations(
  role: IRole,
  { config, entry }: { config: Config; entry: ExecutionEntry | undefined },
): void {
  if (entry?.address.transport === "agentcore")
    permit(role, invokeRuntime(entry.arns, { stops: entry.address.stopAfterResult }));
  else if (entry !== undefined) permit(role, ...invokeFunctionUrl(entry.arns));
  for (const destination of Object.values(config.destinations)) {
    permit(role, ...destinationPermissions(role, destination));
    acknowledgeWildcards(role, {
      resources: signedResources(shownPartition(role), destination).filter((arn) =>
        arn.includes("*"),
      ),
      reason:
        "The address of an API holds its unique id but not its account. The API's own policy decides.",
    });
  }
  const authorizers = foreignAuthorizers(config);
  permitCredentials(role, authorizers);
}

/** Returns the names or ARNs of the secrets that authorize calls to other destinations than the stage's own Execution zone. */
export function destinationSecrets(config: Pick<Config, "destinations">): string[] {
  const references = foreignAuthorizers(config).flatMap(listAuthorizerSecrets);
  return references.flatMap(({ reference }) =>
    "secretsManager" in reference ? [reference.secretsManager] : [],
  );
}

/** Leaves out the stage's own Execution zone, because calls to it are signed with the role's credentials. */
function foreignAuthorizers({ destinations }: Pick<Config, "destinations">): AuthorizerConfig[] {
  const foreign = Object.values(destinations).filter((destination) => !isOwnExecution(destination));
  return foreign.flatMap((destination) => resolveAuthorizerConfig(destination) ?? []);
}

function destinationPermissions(role: IRole, destination: Destination): PolicyStatement[] {
  if (destination.transport === "agentcore") {
    const { runtimeArn, qualifier, stopAfterResult } = destination;
    return [
      invokeRuntime([runtimeArn, `${runtimeArn}/runtime-endpoint/${qualifier}`], {
        stops: stopAfterResult,
        readsCard: protocolOf(destination) === "a2a",
      }),
    ];
  }
  return invokeSigned(signedResources(Stack.of(role).partition, destination));
}

function signedResources(partition: string, destination: Destination): string[] {
  const authorizer = resolveAuthorizerConfig(destination);
  // The stage's own Execution zone is permitted by its entry.
  if (authorizer === undefined || isOwnExecution(destination)) return [];
  const addresses = listAddresses(destination).map(({ address }) => address);
  return listSignedResources(partition, { authorizer, addresses });
}
