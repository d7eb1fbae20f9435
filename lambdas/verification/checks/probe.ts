/** Makes two real calls to a destination to learn what it is, if it works and how long it takes. No task is run. */
import { randomUUID } from "node:crypto";
import { taskKey } from "@sekisho/contracts/a2a/extension.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { parseJson, parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { adviceFor } from "../transport/foreign-protocol.ts";
import type { Transport } from "../transport/transport.ts";
import { type CheckResult, createAnsweredCheck } from "./check-result.ts";
import { createFailedCheck } from "./failed-check.ts";
import { findProtocol } from "./find-protocol.ts";
import { createA2aHealthRequest, discoveryRequest } from "./health-requests.ts";

/** `firstMs` includes connecting and authenticating. `secondMs` measures a call over the open connection. */
export type ProbeResult = Omit<CheckResult, "isUnclear"> & { firstMs?: number; secondMs?: number };

const stopTimeoutMs = 2000;
/** For all documents that are read to learn what else a peer is. */
const maxReadMs = 3000;

/**
 * Never rejects. Takes at most twice `timeoutMs`, plus the time to stop the session. Makes no second call if the first fails. If that leaves
 * open what the peer speaks, reads what agents of other protocols publish, in a quarter of the time.
 */
export async function probeDestination(options: {
  transport: Transport;
  dialect: Dialect;
  /** A URL or an ARN. */
  address: string;
  /** The authorizer's type. */
  authorizer: string;
  timeoutMs: number;
  signal: AbortSignal;
  nowMs?: () => number;
  newId?: () => string;
}): Promise<ProbeResult> {
  const { transport, dialect, address, authorizer, timeoutMs, signal } = options;
  const { nowMs = () => performance.now(), newId = randomUUID } = options;
  const sessionId = `check-${newId()}`;

  async function check(limit: AbortSignal): Promise<CheckResult> {
    const agent = await transport.describe?.({ sessionId, signal: limit });
    const healthRequest =
      agent === undefined ? discoveryRequest : createA2aHealthRequest({ agent, taskId: newId() });
    const id = newId();
    const { method, params } = healthRequest;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const response = await transport.send({ body, sessionId, signal: limit, trace: createTrace() });
    return createAnsweredCheck({ response, id, dialect, authorizer, healthRequest });
  }

  async function call(): Promise<{ checkResult: CheckResult; ms: number }> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const startedAtMs = nowMs();
    const checkResult = await check(AbortSignal.any([signal, timeout])).catch((error) =>
      createFailedCheck({
        thrown: error,
        address,
        authorizer,
        timedOutMs: timeout.aborted ? timeoutMs : undefined,
      }),
    );
    return { checkResult, ms: Math.round(nowMs() - startedAtMs) };
  }

  try {
    const first = await call();
    const { isUnclear, ...firstResult } = first.checkResult;
    const foreignResult =
      isUnclear && (await checkPublished({ transport, address, timeoutMs, signal }));
    if (foreignResult) return foreignResult;
    if (firstResult.health !== "healthy") return firstResult;
    const second = await call();
    const { isUnclear: _isUnclear, ...secondResult } = second.checkResult;
    if (secondResult.health !== "healthy") return secondResult;
    return { ...firstResult, firstMs: first.ms, secondMs: second.ms };
  } finally {
    // Even a failed call may have started a session, which costs money until it times out.
    const stopSignal = AbortSignal.any([signal, AbortSignal.timeout(stopTimeoutMs)]);
    await transport.stopSession?.({ sessionId, signal: stopSignal }).catch(() => {});
  }
}

/** Undefined if the peer publishes nothing of another protocol, or is an Execution host, which is also an A2A agent. */
async function checkPublished(request: {
  transport: Transport;
  address: string;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<ProbeResult | undefined> {
  const { transport, address, timeoutMs, signal } = request;
  const url = parseUrl(address);
  if (transport.read === undefined || url === null) return undefined;
  const timeout = AbortSignal.timeout(Math.min(maxReadMs, Math.ceil(timeoutMs / 4)));
  const limit = AbortSignal.any([signal, timeout]);
  const read = async (target: URL) => {
    const response = await transport.read?.({ url: target, signal: limit });
    return { status: response?.status ?? 0, json: response && parseJson(response.body) };
  };
  const published = await findProtocol({ read, url });
  if (published === undefined) return undefined;
  if (published.protocol === "a2a" && JSON.stringify(published.card).includes(taskKey))
    return undefined;
  const { remedy } = adviceFor(published.protocol);
  const what =
    published.protocol === "a2a"
      ? `It is an A2A agent, whose card is at ${published.cardUrl}.`
      : `It offers the chat completions API at ${published.baseUrl}.`;
  return { health: "unhealthy", summary: `${what} ${remedy}` };
}
