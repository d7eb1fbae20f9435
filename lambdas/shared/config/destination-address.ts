/** Where the calls of a destination go and what authorizes them, whatever is spoken there. */
import { type AuthorizerConfig, secretsOfAuthorizer } from "./authorizer-schema.ts";
import type { Destination } from "./destination-schema.ts";
import type { SecretReference } from "./values.ts";

/** `field` is the one of the configuration that says so. */
export type ConfiguredAddress = { field: "card" | "url"; address: string };

/** Undefined for a transport that has no authorizer. */
export function authorizerConfigOf(destination: Destination): AuthorizerConfig | undefined {
  return "authorizer" in destination ? destination.authorizer : undefined;
}

/** Everything that is called by the authorizer. Empty for a transport without one. */
export function addressesOf(destination: Destination): ConfiguredAddress[] {
  const { card, url } = { ...noAddress, ...destination };
  return [
    ...(card === undefined ? [] : [{ field: "card" as const, address: card }]),
    ...(url === undefined ? [] : [{ field: "url" as const, address: url }]),
  ];
}
const noAddress = { card: undefined, url: undefined };

/** A destination without an address of its own leads to the Execution zone of this configuration, wherever that runs. */
export function isOwnExecution(destination: Destination): boolean {
  return authorizerConfigOf(destination) !== undefined && addressesOf(destination).length === 0;
}

/** Undefined where it is the Execution zone of this configuration, wherever that is. */
export function addressOf(destination: Destination): string | undefined {
  if (destination.transport === "agentcore") return destination.runtimeArn;
  // Without an authorizer it is a function call.
  return authorizerConfigOf(destination) === undefined ? "the same program" : addressesOf(destination)[0]?.address;
}

/** The type of the authorizer. */
export function authorizerOf(destination: Destination): string {
  return destination.transport === "agentcore" ? "sigv4" : (authorizerConfigOf(destination)?.type ?? "none");
}

/** The secrets that a call of the destination needs. */
export function secretsOfDestination(destination: Destination): SecretReference[] {
  const authorizer = authorizerConfigOf(destination);
  return authorizer === undefined ? [] : secretsOfAuthorizer(authorizer).map(({ reference }) => reference);
}
