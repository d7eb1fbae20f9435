/** From the host of a URL to the addresses that may be connected to. */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackAddress, isPublicAddress } from "./public-address.ts";

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * `hostname` is a URL's, which the parser has brought into its one form: what is an address in any spelling is one here.
 * Rejects with `unavailable` where there is no address, and with `permission_denied` where any is not public.
 */
export async function resolveHost({
  hostname,
  resolve,
  allowLoopback,
}: {
  hostname: string;
  resolve: Resolve;
  allowLoopback: boolean;
}): Promise<readonly LookupAddress[]> {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const family = isIP(bare);
  const addresses = family === 0 ? await lookUp({ name: bare, resolve }) : [{ address: bare, family }];
  if (addresses.length === 0) throw new SekishoError("unavailable");
  const isAllowed = ({ address }: LookupAddress) =>
    isPublicAddress(address) || (allowLoopback && isLoopbackAddress(address));
  if (!addresses.every(isAllowed)) throw new SekishoError("permission_denied");
  return addresses;
}

async function lookUp({ name, resolve }: { name: string; resolve: Resolve }): Promise<readonly LookupAddress[]> {
  try {
    return await resolve(name);
  } catch (cause) {
    throw new SekishoError("unavailable", { cause });
  }
}
