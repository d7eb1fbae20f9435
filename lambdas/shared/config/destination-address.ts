/** Where the calls of a destination go and what authorizes them, whatever is spoken there. */
import { type AuthorizerConfig, listAuthorizerSecrets } from "./authorizer-schema.ts";
import type { Destination } from "./destination-schema.ts";
import type { SecretReference } from "./values.ts";

/** `field` is the one of the configuration that says so. */
export type ConfiguredAddress = { field: "card" | "url"; address: string };

/** Undefined for a transport that has no authorizer. */
export function resolveAuthorizerConfig(destination: Destination): AuthorizerConfig | undefined {
  return "authorizer" in destination ? destination.authorizer : undefined;
}

/** Everything that is called by the authorizer. Empty for a transport without one. */
export function listAddresses(destination: Destination): ConfiguredAddress[] {
  const { card, url } = { ...noAddress, ...destination };
  return [
    ...(card === undefined ? [] : [{ field: "card" as const, address: card }]),
    ...(url === undefined ? [] : [{ field: "url" as const, address: url }]),
  ];
}
const noAddress = { card: undefined, url: undefined };

/** A destination without an address of its own leads to the Execution zone of this configuration, wherever that runs. */
export function isOwnExecution(destination: Destination): boolean {
  return resolveAuthorizerConfig(destination) !== undefined && listAddresses(destination).length === 0;
}

/** Undefined where it is the Execution zone of this configuration, wherever that is. */
export function toAddress(destination: Destination): string | undefined {
  if (destination.transport === "agentcore") return destination.runtimeArn;
  // Without an authorizer it is a function call.
  return resolveAuthorizerConfig(destination) === undefined
    ? "the same program"
    : listAddresses(destination)[0]?.address;
}

/** The type of the authorizer. */
export function authorizerOf(destination: Destination): string {
  return destination.transport === "agentcore" ? "sigv4" : (resolveAuthorizerConfig(destination)?.type ?? "none");
}

/** The secrets that a call of the destination needs. */
export function listDestinationSecrets(destination: Destination): SecretReference[] {
  const authorizer = resolveAuthorizerConfig(destination);
  return authorizer === undefined ? [] : listAuthorizerSecrets(authorizer).map(({ reference }) => reference);
}
