/** Fetches artifacts that an agent gives by URL. */

import { isOwnExecution, listAddresses } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { createPublicFetch, type PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { Task } from "../task/task.ts";

/**
 * An agent may give URLs of public addresses. On loopback it may give only URLs of its own origin, because other programs listen on
 * the other ports. `executionUrl` is the Execution zone of this configuration if it runs on this machine.
 */
export function createArtifactFetch(
  options: Pick<Config, "destinations"> & { executionUrl?: string | undefined },
): (task: Task) => PublicFetch {
  const { destinations, executionUrl } = options;
  const fromPublic = createPublicFetch();
  const fromLoopback = createPublicFetch({ allowLoopback: true });
  return ({ call }) => {
    const name = call?.destination ?? "";
    const destination = Object.hasOwn(destinations, name) ? destinations[name] : undefined;
    const ownOrigins =
      destination === undefined ? [] : loopbackOrigins({ destination, executionUrl });
    return (request) => {
      const origin = parseUrl(request.url)?.origin;
      const isOwn = origin !== undefined && ownOrigins.includes(origin);
      return isOwn ? fromLoopback(request) : fromPublic(request);
    };
  };
}

function loopbackOrigins(request: {
  destination: Destination;
  executionUrl: string | undefined;
}): string[] {
  const { destination, executionUrl } = request;
  const isOwnZone = destination.transport === "in-process" || isOwnExecution(destination);
  const addresses = isOwnZone
    ? [executionUrl]
    : listAddresses(destination).map(({ address }) => address);
  return addresses.flatMap((address) => {
    const url = address === undefined ? null : parseUrl(address);
    return url !== null && isLoopbackHost(url.hostname) ? [url.origin] : [];
  });
}
