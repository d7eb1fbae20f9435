/** Where the calls of a destination go and what authorizes them, whatever is spoken there. Pure. */
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { Destination } from "./destination-schema.ts";

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
