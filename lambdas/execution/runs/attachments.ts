/** Reads the attachments of a task for its agent. */
import { createHash } from "node:crypto";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createPublicFetch, type PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { ReadAttachment } from "../agents/agent.ts";
import { runAsHost } from "./uncaught-errors.ts";

/** Creates the function by which an agent reads attachments. It aborts with the task's `signal`. */
export function createReadAttachment(options: {
  publicFetch: PublicFetch;
  signal: AbortSignal;
  log: Log;
}): ReadAttachment {
  const { publicFetch, signal, log } = options;
  return async ({ attachment: { url, sha256 }, maxBytes = defaultMaxBytes }) => {
    try {
      const bytes = await runAsHost(() => publicFetch({ url, maxBytes, timeoutMs, signal }));
      const isIntact =
        sha256 === undefined || createHash("sha256").update(bytes).digest("hex") === sha256;
      if (!isIntact) throw new SekishoError("invalid_response");
      return bytes;
    } catch (error) {
      if (!signal.aborted)
        log.warn("attachment_not_read", { reason: SekishoError.from(error).reason });
      throw error;
    }
  };
}

const defaultMaxBytes = 16 * 1024 * 1024;

/** The limit for one attachment. The task's own time also limits it. */
const timeoutMs = 60_000;

/**
 * Reads from public addresses and, on this machine, only from the Verification zone's files, because the sender of a task chooses the
 * address. Only for runs on one machine: in a container or on AWS, other programs listen on loopback.
 */
export function createLocalAttachmentFetch(options: {
  /** Undefined while the Verification zone does not listen. Nothing local is read then. */
  verificationPort: () => number | undefined;
}): PublicFetch {
  const { verificationPort } = options;
  const fetchPublic = createPublicFetch();
  const fetchLoopback = createPublicFetch({ allowLoopback: true });
  return (request) =>
    isLocalFile(request.url, verificationPort()) ? fetchLoopback(request) : fetchPublic(request);
}

/** The path at which the Verification zone's server serves files. */
const localPath = "/files/";

/** The URL parser has already resolved `..` in the path and normalized the address. */
function isLocalFile(address: string, port: number | undefined): boolean {
  const url = parseUrl(address);
  if (
    url?.protocol !== "http:" ||
    !isLoopbackHost(url.hostname) ||
    !url.pathname.startsWith(localPath)
  )
    return false;
  return Number(url.port || 80) === port;
}
