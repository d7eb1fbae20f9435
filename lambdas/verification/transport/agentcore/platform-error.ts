/** AgentCore's own errors where they come as JSON-RPC (its A2A mode); older runtimes use the second numbers and HTTP 200. */
import * as z from "zod";
import { errorObjectSchema } from "../../../../contracts/envelope.ts";
import { type ClientReason, SekishoError } from "../../../../contracts/errors.ts";

/** How AgentCore words the conflict that passes by itself; any other is final. */
const inProgress = /session operation in progress/i;
const maxPlatformErrorBytes = 4096;
const bodySchema = z.object({ error: errorObjectSchema });

/** The reason of a platform error's number, or undefined where the number is none of AgentCore's. */
export function platformReason({ code, message }: { code: number; message: string }): ClientReason | undefined {
  switch (code) {
    case -32051:
    case -32501:
      return "agent_not_found";
    case -32052:
    case -32502:
      return "invalid_request";
    case -32053:
    case -32503:
      return "rate_limited";
    case -32054:
    case -32504:
      return inProgress.test(message) ? "unavailable" : "invalid_state";
    case -32055:
    case -32505:
      return "ambiguous";
    default:
      return undefined;
  }
}

/** For a body that came with HTTP 200. No dialect uses these numbers, so nothing of an agent's own is taken for them. */
export function platformErrorIn(body: Uint8Array): SekishoError | undefined {
  if (body.byteLength > maxPlatformErrorBytes) return undefined;
  const parsed = bodySchema.safeParse(parseJson(body)).data;
  const reason = parsed === undefined ? undefined : platformReason(parsed.error);
  return parsed === undefined || reason === undefined
    ? undefined
    : new SekishoError(reason, { code: parsed.error.code });
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
