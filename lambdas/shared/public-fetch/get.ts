/** One GET: the body of a plain 200, up to a limit. */
import type { IncomingMessage } from "node:http";
import { SekishoError } from "../../../contracts/errors.ts";
import { readIncoming } from "../read-incoming.ts";
import { requestOnce, type Target } from "./request-once.ts";

/** Rejects with a SekishoError. */
export async function get({ maxBytes, ...target }: Target & { maxBytes: number }): Promise<Uint8Array> {
  return requestOnce({
    ...target,
    method: "GET",
    headers: { accept: "*/*", "accept-encoding": "identity" },
    read(response) {
      const refusal = refusalOf({ response, maxBytes });
      if (refusal !== undefined) throw refusal;
      return readIncoming({ message: response, maxBytes });
    },
  });
}

/** By the head alone, before the body is read. */
function refusalOf({ response, maxBytes }: { response: IncomingMessage; maxBytes: number }): SekishoError | undefined {
  const { statusCode: status = 0, headers } = response;
  if (status === 429 || status >= 500) return new SekishoError("unavailable");
  const encoding = headers["content-encoding"] ?? "identity";
  if (status !== 200 || encoding.toLowerCase() !== "identity") return new SekishoError("invalid_response");
  return Number(headers["content-length"] ?? 0) > maxBytes ? new SekishoError("payload_too_large") : undefined;
}
