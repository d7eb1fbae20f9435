/** What came back from a peer: the JSON-RPC Response where it is one, and in any case words for a person. */

import { type JsonRpcResponse, responseSchema } from "../../../contracts/envelope.ts";
import type { ClientReason } from "../../../contracts/errors.ts";
import { escapeActiveCharacters } from "../../../lambdas/shared/untrusted-input.ts";
import { redact } from "../../../lambdas/verification/transport/tap.ts";
import type { TransportResponse } from "../../../lambdas/verification/transport/transport.ts";

export type PeerAnswer = {
  status: number | undefined;
  response: JsonRpcResponse | undefined;
  /** Why nothing that can be read came, as the transport says it. */
  failure: PeerFailure | undefined;
  came: string;
};

/** `no_credential`: it failed on the way to one, and nothing was sent. */
export type PeerFailure = ClientReason | "late" | "no_credential";

const longestExcerpt = 240;

export function readPeerAnswer({ status, body }: TransportResponse): PeerAnswer {
  const json = parse(body);
  const response = responseSchema.safeParse(json).data;
  const head = status === undefined ? "" : `HTTP ${status}, `;
  const came = `${head}${response === undefined ? withoutEnvelope({ body, json }) : excerpt(membersOf(response))}`;
  return { status, response, failure: undefined, came };
}

/** `words`: more than the failure alone says, where it is known. */
export function createMissingAnswer({
  failure,
  timeoutMs,
  words = describeFailure({ failure, timeoutMs }),
}: {
  failure: PeerFailure;
  timeoutMs: number;
  words?: string | undefined;
}): PeerAnswer {
  return { status: undefined, response: undefined, failure, came: words };
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(body));
  } catch {
    return undefined;
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function withoutEnvelope({ body, json }: { body: Uint8Array; json: unknown }): string {
  if (body.byteLength === 0) return "no JSON-RPC body";
  if (json === undefined) return `${body.byteLength} bytes that are no JSON in UTF-8`;
  return `JSON that is no JSON-RPC Response: ${excerpt(json)}`;
}

/** What a Response says beside its version, in the order in which one reads it. */
function membersOf(response: JsonRpcResponse): object {
  return "error" in response
    ? { error: response.error, id: response.id }
    : { result: response.result, id: response.id };
}

/** Without secrets. What a terminal would act upon is escaped, as in JSON. */
function excerpt(json: unknown): string {
  const text = escapeActiveCharacters(JSON.stringify(redact(json))).replace(
    /\b(bearer|basic)\s+[^\s"\\]+/gi,
    "$1 [redacted]",
  );
  return text.length > longestExcerpt ? `${text.slice(0, longestExcerpt)}…` : text;
}

function describeFailure({ failure, timeoutMs }: { failure: PeerFailure; timeoutMs: number }): string {
  switch (failure) {
    case "late":
      return `no answer within ${timeoutMs / 1000} s`;
    case "unavailable":
      return "no connection to it";
    case "ambiguous":
      return "the connection broke before the answer was there";
    case "invalid_response":
      return "a head that the Verification zone refuses: a redirect, a content type that is not JSON, a content encoding, or no HTTP";
    case "payload_too_large":
      return "an answer larger than the Verification zone reads";
    default:
      return `no answer (${failure})`;
  }
}
