/** Makes two real calls to a destination to learn what it is, if it works and how long it takes. No task is run. */
import { randomUUID } from "node:crypto";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Transport } from "../transport/transport.ts";
import { type CheckResult, createAnsweredCheck } from "./check-result.ts";
import { createFailedCheck } from "./failed-check.ts";
import { createA2aHealthRequest, discoveryRequest } from "./health-requests.ts";

/** `firstMs` includes connecting and authenticating. `secondMs` measures a call over the open connection. */
export type ProbeResult = CheckResult & { firstMs?: number; secondMs?: number };

const stopTimeoutMs = 2000;

/** Never rejects. Takes at most twice `timeoutMs`, plus the time to stop the session. Makes no second call if the first fails. */
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
    if (first.checkResult.health !== "healthy") return first.checkResult;
    const second = await call();
    if (second.checkResult.health !== "healthy") return second.checkResult;
    return { ...first.checkResult, firstMs: first.ms, secondMs: second.ms };
  } finally {
    // Even a failed call may have started a session, which costs money until it times out.
    const stopSignal = AbortSignal.any([signal, AbortSignal.timeout(stopTimeoutMs)]);
    await transport.stopSession?.({ sessionId, signal: stopSignal }).catch(() => {});
  }
}
