/** The addresses and the authorizer of a destination, for every transport. */

import { listAuthorizerSecrets } from "./authorizer-needs.ts";
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { Destination } from "./destination-schema.ts";
import type { SecretReference } from "./values.ts";

/** `field` is the name of the configuration field. */
export type ConfiguredAddress = { field: "card" | "url"; address: string };

/** Undefined for a transport without an authorizer. */
export function resolveAuthorizerConfig(destination: Destination): AuthorizerConfig | undefined {
  return "authorizer" in destination ? destination.authorizer : undefined;
}

/** All addresses that are called with the authorizer. Empty for a transport without one. */
export function listAddresses(destination: Destination): ConfiguredAddress[] {
  const addresses: Partial<Record<"transport" | "card" | "url", string | undefined>> = destination;
  return (["card", "url"] as const).flatMap((field) => {
    const address = addresses[field];
    return address === undefined ? [] : [{ field, address }];
  });
}

/** True if the destination is the Execution zone of this configuration, because it has no address of its own. */
export function isOwnExecution(destination: Destination): boolean {
  return (
    resolveAuthorizerConfig(destination) !== undefined && listAddresses(destination).length === 0
  );
}

/** Undefined if the destination is the Execution zone of this configuration, whose address depends on where it runs. */
export function toAddress(destination: Destination): string | undefined {
  switch (destination.transport) {
    case "agentcore":
      return destination.runtimeArn;
    case "in-process":
      return "the same program";
    case "https":
    case "a2a":
      return listAddresses(destination)[0]?.address;
  }
}

export function authorizerOf(destination: Destination): string {
  return destination.transport === "agentcore"
    ? "sigv4"
    : (resolveAuthorizerConfig(destination)?.type ?? "none");
}

export function listDestinationSecrets(destination: Destination): SecretReference[] {
  const authorizer = resolveAuthorizerConfig(destination);
  return authorizer === undefined
    ? []
    : listAuthorizerSecrets(authorizer).map(({ reference }) => reference);
}
