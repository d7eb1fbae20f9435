/** How an agent gets the bytes of an attachment: its address was chosen by whoever sent the task. */

import { createHash } from "node:crypto";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import { createPublicFetch, type PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
import { parseUrl } from "../../shared/untrusted-input.ts";
import type { ReadAttachment } from "../agents/agent.ts";

const defaultMaxBytes = 16 * 1024 * 1024;
/** For one attachment; the task's own time bounds it as well. */
const timeoutMs = 60_000;

/** Stops when the task's `signal` does. */
export function createReadAttachment({
  publicFetch,
  signal,
  log,
}: {
  publicFetch: PublicFetch;
  signal: AbortSignal;
  log: Log;
}): ReadAttachment {
  return async ({ attachment: { url, sha256 }, maxBytes = defaultMaxBytes }) => {
    try {
      const bytes = await publicFetch({ url, maxBytes, timeoutMs, signal });
      const isIntact = sha256 === undefined || createHash("sha256").update(bytes).digest("hex") === sha256;
      if (!isIntact) throw new SekishoError("invalid_response");
      return bytes;
    } catch (thrown) {
      if (!signal.aborted) log.warn("attachment_not_read", { reason: SekishoError.from(thrown).reason });
      throw thrown;
    }
  };
}

/** Where the Verification zone's server serves them. */
const localPath = "/files/";

/**
 * The sender of a task chooses the address. On this machine it may lead to the files of the Verification zone and to no other
 * server; elsewhere to what is public. For runs on one machine only: in a container or on AWS, loopback belongs to others.
 */
export function createLocalAttachmentFetch({
  verificationPort,
  elsewhere = createPublicFetch(),
}: {
  /** Undefined as long as the Verification zone does not listen, and where nobody knows its port: nothing local is read then. */
  verificationPort: () => number | undefined;
  elsewhere?: PublicFetch;
}): PublicFetch {
  const onLoopback = createPublicFetch({ allowLoopback: true });
  return (request) => (isLocalFile(request.url, verificationPort()) ? onLoopback(request) : elsewhere(request));
}

/** The parser has resolved `..` in the path, and brought every spelling of an address into one. */
function isLocalFile(address: string, port: number | undefined): boolean {
  const url = parseUrl(address);
  if (url?.protocol !== "http:" || !isLoopbackHost(url.hostname) || !url.pathname.startsWith(localPath)) return false;
  return Number(url.port || 80) === port;
}
