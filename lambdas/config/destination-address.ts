/** The facts of each transport, and the addresses and the authorizer of a destination. It loads no schema, so that cold starts build none. */

import { listAuthorizerSecrets } from "./authorizer-needs.ts";
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { Destination } from "./destination-schema.ts";
import type { SecretReference } from "./values.ts";

/** The facts of a transport that its schema cannot say. */
type TransportFacts<D> = {
  /** True if only the Execution host of the same machine can be reached, so that no stage can use it. */
  isLocal?: true;
  /** The address, where it is neither `url` nor `card`. */
  address?: (destination: D) => string;
  /** How calls prove who makes them, where the configuration does not choose it. */
  authorizer?: string;
};

const transportFacts: {
  readonly [T in Destination["transport"]]: TransportFacts<Extract<Destination, { transport: T }>>;
} = {
  "in-process": { isLocal: true, address: () => "the same program" },
  https: {},
  a2a: {},
  agentcore: { address: ({ runtimeArn }) => runtimeArn, authorizer: "sigv4" },
};

export function factsOf({ transport }: Destination): TransportFacts<never> {
  return transportFacts[transport];
}

/** Returns the protocol of the peer. The transport `a2a` is A2A over HTTPS. */
export function protocolOf(destination: Destination): "sekisho" | "a2a" {
  if (destination.transport === "a2a") return "a2a";
  return ("protocol" in destination ? destination.protocol : undefined) ?? "sekisho";
}

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

/** The name of the agent of the host that runs the tasks. Undefined for the host's main agent. */
export function readHostAgent(destination: Destination): string | undefined {
  return "agent" in destination ? destination.agent : undefined;
}

/** True if the destination is the Execution host of the same machine, which no stage has. */
export function isLocalOnly(destination: Destination): boolean {
  return (
    factsOf(destination).isLocal === true ||
    (destination.transport === "a2a" && isOwnExecution(destination))
  );
}

/** Undefined if the destination is the Execution zone of this configuration, whose address depends on where it runs. */
export function toAddress(destination: Destination): string | undefined {
  const { address } = factsOf(destination);
  // The facts are those of the destination's own transport.
  return address?.(destination as never) ?? listAddresses(destination)[0]?.address;
}

/** The audience of tokens for the Execution zone of this configuration, whose address depends on where it runs. */
export const ownAudience = "sekisho";

/** True if calls need a token of the person who asked: for the destination, or for an authorization server that trades it. */
export function needsAskerToken(destination: Destination): boolean {
  return (
    destination.asker !== undefined ||
    resolveAuthorizerConfig(destination)?.type === "token-exchange"
  );
}

/** The audience of the asker's tokens for the destination. */
export function readAudience(destination: Destination): string {
  return destination.asker?.audience ?? findAudience(destination) ?? ownAudience;
}

function findAudience(destination: Destination): string | undefined {
  if (destination.transport === "in-process") return undefined;
  if (destination.transport === "agentcore") return destination.runtimeArn;
  return destination.url ?? (destination.transport === "a2a" ? destination.card : undefined);
}

export function authorizerOf(destination: Destination): string {
  return factsOf(destination).authorizer ?? resolveAuthorizerConfig(destination)?.type ?? "none";
}

export function listDestinationSecrets(destination: Destination): SecretReference[] {
  const authorizer = resolveAuthorizerConfig(destination);
  return authorizer === undefined
    ? []
    : listAuthorizerSecrets(authorizer).map(({ reference }) => reference);
}
