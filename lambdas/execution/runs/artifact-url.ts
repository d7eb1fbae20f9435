/** Decides whether a Verification zone would read the address of an artifact. */
import { isLoopbackHost, isSecureUrl } from "@sekisho/contracts/loopback.ts";
import { isPublicHost } from "@sekisho/runtime/public-fetch/reach.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";

/** True for public https without credentials, and for loopback, which a Verification zone on the same machine may read. */
export function isReadableUrl(address: string): boolean {
  const url = parseUrl(address);
  if (url === null || !isSecureUrl(url) || url.username !== "" || url.password !== "") return false;
  return isLoopbackHost(url.hostname) || isPublicHost(url.hostname);
}
