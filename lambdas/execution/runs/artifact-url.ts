/** Decides whether a Verification zone would read the address of an artifact. */
import { isIP } from "node:net";
import { isLoopbackHost, isSecureUrl } from "../../../contracts/loopback.ts";
import { isPublicAddress } from "../../shared/public-fetch/reach.ts";
import { parseUrl } from "../../shared/untrusted-input.ts";

/** Names that no public DNS has: special-use names, and those of private zones of clouds. */
const privateNames = /\.(?:internal|local|localhost|lan|home|corp|intranet|private)\.?$/i;

/** True for public https without credentials, and for loopback, which a Verification zone on the same machine may read. */
export function isReadableUrl(address: string): boolean {
  const url = parseUrl(address);
  if (url === null || !isSecureUrl(url) || url.username !== "" || url.password !== "") return false;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isLoopbackHost(url.hostname)) return true;
  return isIP(host) === 0 ? host.includes(".") && !privateNames.test(host) : isPublicAddress(host);
}
