/** What is fetched of an artifact that its agent names by address. */
import { isLoopbackHost } from "../../../contracts/methods.ts";
import { addressesOf, isOwnExecution } from "../../shared/config/destination-address.ts";
import type { Destination } from "../../shared/config/destination-schema.ts";
import type { Config } from "../../shared/config/schema.ts";
import { createPublicFetch, type PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
import type { Task } from "../task/task.ts";

/**
 * An agent on this machine may name addresses of this machine; every other one, like everybody, only what is public.
 * `ownZoneIsHere`: the Execution zone of this configuration, to which destinations without an address lead, is on this machine.
 */
export function createArtifactFetch({
  destinations,
  ownZoneIsHere = false,
}: Pick<Config, "destinations"> & { ownZoneIsHere?: boolean }): (task: Task) => PublicFetch {
  const everywhere = createPublicFetch();
  const here = createPublicFetch({ allowLoopback: true });
  return ({ destination: name = "" }) => {
    const destination = Object.hasOwn(destinations, name) ? destinations[name] : undefined;
    return destination !== undefined && isHere({ destination, ownZoneIsHere }) ? here : everywhere;
  };
}

function isHere({ destination, ownZoneIsHere }: { destination: Destination; ownZoneIsHere: boolean }): boolean {
  if (destination.transport === "in-process") return true;
  if (isOwnExecution(destination)) return ownZoneIsHere;
  const addresses = addressesOf(destination);
  return addresses.length > 0 && addresses.every(({ address }) => isLoopbackHost(new URL(address).hostname));
}
