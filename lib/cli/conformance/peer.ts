/** The Execution endpoint under test: raw bytes to it over a transport, whatever comes back as an answer. */

import type { Dialect } from "../../../contracts/dialects.ts";
import type { JsonRpcErrorObject } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { abortable } from "../../../lambdas/shared/async/waiting.ts";
import { createTrace, type Trace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { credentialText } from "../../../lambdas/verification/checks/failed-check.ts";
import type { Transport } from "../../../lambdas/verification/transport/transport.ts";
import { createMissingAnswer, type PeerAnswer, readPeerAnswer } from "./peer-answer.ts";

export type PeerRequest = {
  body: string | Uint8Array;
  trace?: Trace;
  sessionId?: string;
  /** A caller whom the peer does not know, instead of the one that it does. */
  as?: keyof Strangers;
};

/** The same endpoint, reached without credentials and with wrong ones. */
export type Strangers = { nobody: Transport; impostor: Transport };

export type PeerUnderTest = {
  dialect: Dialect;
  /** Rejects only when the command is interrupted. */
  send(sending: PeerRequest): Promise<PeerAnswer>;
  /** One well-formed Request. */
  call(request: { method: string; params?: unknown; id: string | number }): Promise<PeerAnswer>;
  /** Why strangers cannot be tried, where they cannot. */
  withoutStrangers: string | undefined;
  /** Every error object that has come so far. */
  errors: readonly JsonRpcErrorObject[];
};

export function createPeerUnderTest({
  transport,
  strangers,
  authorizer,
  dialect,
  sessionId,
  timeoutMs,
  signal: interrupt,
}: {
  transport: Transport;
  strangers: Strangers | string;
  /** The authorizer's type. */
  authorizer: string;
  dialect: Dialect;
  sessionId: string;
  timeoutMs: number;
  signal: AbortSignal;
}): PeerUnderTest {
  const errors: JsonRpcErrorObject[] = [];

  async function send({ body, trace = createTrace(), as, ...sending }: PeerRequest): Promise<PeerAnswer> {
    interrupt.throwIfAborted();
    const late = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([interrupt, late]);
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const carrier = as === undefined || typeof strangers === "string" ? transport : strangers[as];
    try {
      const promise = carrier.send({ sessionId, ...sending, body: bytes, trace, signal });
      const answer = readPeerAnswer(await abortable({ promise, signal }));
      if (answer.response !== undefined && "error" in answer.response) errors.push(answer.response.error);
      return answer;
    } catch (thrown) {
      interrupt.throwIfAborted();
      const error = SekishoError.from(thrown);
      const words = credentialText({ error, authorizer });
      if (words !== undefined) return createMissingAnswer({ failure: "no_credential", timeoutMs, words });
      return createMissingAnswer({ failure: late.aborted ? "late" : error.reason, timeoutMs });
    }
  }

  return {
    dialect,
    send,
    call: ({ method, params, id }) => send({ body: JSON.stringify({ jsonrpc: "2.0", id, method, params }) }),
    withoutStrangers: typeof strangers === "string" ? strangers : undefined,
    errors,
  };
}
