/** The Execution endpoint under test: sends raw bytes over a transport, and describes every outcome. */
import { randomUUID } from "node:crypto";
import type { Dialect } from "../../../contracts/dialects.ts";
import {
  type JsonRpcErrorObject,
  type JsonRpcResponse,
  type RequestId,
  responseSchema,
} from "../../../contracts/envelope.ts";
import { type ClientReason, SekishoError } from "../../../contracts/errors.ts";
import { abortable } from "../../../lambdas/shared/async/waiting.ts";
import { redact } from "../../../lambdas/shared/redact.ts";
import { createTrace, type Trace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { escapeActiveCharacters } from "../../../lambdas/shared/untrusted-input.ts";
import { credentialText } from "../../../lambdas/verification/checks/failed-check.ts";
import type { Transport, TransportResponse } from "../../../lambdas/verification/transport/transport.ts";

export type PeerRequest = {
  body: string | Uint8Array;
  /** The id in the body, where it has one. */
  id?: RequestId;
  trace?: Trace;
  sessionId?: string;
  /** Sends as a caller whom the peer does not know. */
  as?: keyof Strangers;
};

/** The same endpoint, reached without credentials and with wrong ones. */
export type Strangers = { nobody: Transport; impostor: Transport };

type ReadAnswer = {
  status: number | undefined;
  response: JsonRpcResponse | undefined;
  /** The reason why no readable answer came. `no_credential`: nothing was sent, because there was none. */
  failure: ClientReason | "late" | "no_credential" | undefined;
  /** The outcome for a person. */
  came: string;
};

export type PeerAnswer = ReadAnswer & {
  /** The id that was sent. */
  id: RequestId | null;
  dialect: Dialect;
};

export type PeerUnderTest = {
  /** Rejects only when the command is interrupted. */
  send(request: PeerRequest): Promise<PeerAnswer>;
  /** Sends one well-formed Request. */
  call(request: { method: string; params?: unknown; id?: string }): Promise<PeerAnswer>;
  /** The reason why there are no strangers to try. Undefined if there are. */
  withoutStrangers: string | undefined;
  /** Every error object that has come so far. */
  errors: readonly JsonRpcErrorObject[];
};

type PeerOptions = {
  transport: Transport;
  strangers: Strangers | string;
  /** The authorizer's type. */
  authorizer: string;
  dialect: Dialect;
  sessionId: string;
  timeoutMs: number;
  signal: AbortSignal;
};

export function createPeerUnderTest(options: PeerOptions): PeerUnderTest {
  const { transport, strangers, authorizer, dialect, sessionId, timeoutMs, signal: interrupt } = options;
  const errors: JsonRpcErrorObject[] = [];

  async function exchange({ body, as, trace = createTrace(), ...rest }: Omit<PeerRequest, "id">): Promise<ReadAnswer> {
    interrupt.throwIfAborted();
    const late = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([interrupt, late]);
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const carrier = as === undefined || typeof strangers === "string" ? transport : strangers[as];
    try {
      const promise = carrier.send({ sessionId, ...rest, body: bytes, trace, signal });
      const answer = readPeerAnswer(await abortable({ promise, signal }));
      if (answer.response !== undefined && "error" in answer.response) errors.push(answer.response.error);
      return answer;
    } catch (thrown) {
      interrupt.throwIfAborted();
      const error = SekishoError.from(thrown);
      const missing = { status: undefined, response: undefined };
      const came = credentialText({ error, authorizer });
      if (came !== undefined) return { ...missing, failure: "no_credential", came };
      if (late.aborted) return { ...missing, failure: "late", came: `no answer within ${timeoutMs / 1000} s` };
      return { ...missing, failure: error.reason, came: failureTexts[error.reason] ?? `no answer (${error.reason})` };
    }
  }

  async function send({ id = null, ...request }: Omit<PeerRequest, "id"> & { id?: RequestId | null }) {
    return { ...(await exchange(request)), id, dialect };
  }

  return {
    send,
    call: ({ method, params, id = randomUUID() }) =>
      send({ id, body: JSON.stringify({ jsonrpc: "2.0", id, method, params }) }),
    withoutStrangers: typeof strangers === "string" ? strangers : undefined,
    errors,
  };
}

const failureTexts: Partial<Record<ClientReason, string>> = {
  unavailable: "no connection to it",
  ambiguous: "the connection broke before the answer was there",
  invalid_response:
    "a head that the Verification zone refuses: a redirect, a content type that is not JSON, a content encoding, or no HTTP",
  payload_too_large: "an answer larger than the Verification zone reads",
};

export function readPeerAnswer({ status, body }: TransportResponse): ReadAnswer {
  const json = parse(body);
  const response = responseSchema.safeParse(json).data;
  const head = status === undefined ? "" : `HTTP ${status}, `;
  const came = `${head}${response === undefined ? describeForeign(body, json) : excerpt(toShown(response))}`;
  return { status, response, failure: undefined, came };
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(body));
  } catch {
    return undefined;
  }
}

/** Describes what is not a JSON-RPC Response. */
function describeForeign(body: Uint8Array, json: unknown): string {
  if (body.byteLength === 0) return "no JSON-RPC body";
  if (json === undefined) return `${body.byteLength} bytes that are no JSON in UTF-8`;
  return `JSON that is no JSON-RPC Response: ${excerpt(json)}`;
}

/** Leaves out the version, and puts the id last. */
function toShown(response: JsonRpcResponse): object {
  const { id } = response;
  return "error" in response ? { error: response.error, id } : { result: response.result, id };
}

/** Removes secrets, and escapes what a terminal would act upon. */
function excerpt(json: unknown): string {
  const escaped = escapeActiveCharacters(JSON.stringify(redact(json)));
  const text = escaped.replace(/\b(bearer|basic)\s+[^\s"\\]+/gi, "$1 [redacted]");
  return text.length > 240 ? `${text.slice(0, 240)}…` : text;
}
