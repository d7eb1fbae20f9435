/** How an agent gets the bytes of an attachment: its address was chosen by whoever sent the task. */
import { createHash } from "node:crypto";
import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
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
