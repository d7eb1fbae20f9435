/** What is fetched of an artifact that its agent names by address. */
import { isLoopbackHost } from "../../../contracts/methods.ts";
import { addressesOf } from "../../shared/config/destination-address.ts";
import type { Config } from "../../shared/config/schema.ts";
import { createPublicFetch, type PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
import type { Task } from "../task/task.ts";

/** An agent on this machine may name addresses of this machine; every other one, like everybody, only what is public. */
export function createArtifactFetch({ destinations }: Pick<Config, "destinations">): (task: Task) => PublicFetch {
  const everywhere = createPublicFetch();
  const here = createPublicFetch({ allowLoopback: true });
  return ({ destination: name = "" }) => {
    const destination = destinations[name];
    if (destination === undefined) return everywhere;
    const addresses = addressesOf(destination);
    const isHere =
      destination.transport === "in-process" ||
      (addresses.length > 0 && addresses.every(({ address }) => isLoopbackHost(new URL(address).hostname)));
    return isHere ? here : everywhere;
  };
}
