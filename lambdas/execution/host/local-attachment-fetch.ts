/** How attachments are read where both zones are on one machine: there the Verification zone keeps them behind a loopback address. */
import { isLoopbackHost } from "../../../contracts/methods.ts";
import { createPublicFetch, type PublicFetch } from "../../shared/public-fetch/public-fetch.ts";

/** Where a Verification zone on this machine serves them. Its port is known to nobody here: it may be another process. */
const localPath = "/files/";

/**
 * Whoever sends a task chooses the address: of this machine nothing is read but what lies below that path, and elsewhere only
 * what is public. For runs on one machine alone: elsewhere loopback is the platform's, or another container's.
 */
export function createLocalAttachmentFetch({
  elsewhere = createPublicFetch(),
}: {
  elsewhere?: PublicFetch;
} = {}): PublicFetch {
  const onLoopback = createPublicFetch({ allowLoopback: true });
  return (request) => (isLocalFile(request.url) ? onLoopback(request) : elsewhere(request));
}

/** The parser has resolved `..` in the path, and brought every spelling of an address into one. */
function isLocalFile(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "http:" && isLoopbackHost(url.hostname) && url.pathname.startsWith(localPath);
}
