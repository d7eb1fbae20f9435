/** Transports to agents of bare answers, and calls over them. */
import { randomUUID } from "node:crypto";
import type { MethodName, ParamsOf, ResultOf } from "@sekisho/contracts/methods.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { startAgent } from "../../../doubles/a2a-peer-agent.ts";
import { closeAfterTest } from "../../../doubles/serving.ts";

export const sessionId = `session-${"0123456789".repeat(4)}`;

/** `call` is that of a client to it. */
export async function agentOf(options: Parameters<typeof startAgent>[0]) {
  const agent = closeAfterTest(await startAgent(options));
  return { ...agent, call: clientTo(agent.cardUrl).call };
}

/** A client without repetitions over the transport, so that a failure is that of one attempt. */
export function clientTo(
  cardUrl: string,
  {
    version,
    now,
    random,
    ...options
  }: Partial<
    Parameters<typeof createHttpsCarrier>[0] & Parameters<typeof createA2aTransport>[0]
  > = {},
) {
  const transport = closeAfterTest(
    createA2aTransport({
      carrier: createHttpsCarrier({ cardUrl, authorizer: noAuthorizer, now, ...options }),
      version,
      now,
      random,
    }),
  );
  const client = createClient({
    transport,
    destination: { name: "agent", dialect: "a2a", idempotent: false, callTimeoutMs: 25_000 },
    log: silentLog,
    sleep: () => Promise.reject(new Error("no repetition here")),
  });
  return {
    transport,
    call<M extends MethodName>(
      method: M,
      params: ParamsOf<M>,
      { id = randomUUID(), signal }: { id?: string; signal?: AbortSignal } = {},
    ): Promise<ResultOf<M>> {
      const common = { requestId: id, sessionId, timeoutMs: 25_000, trace: createTrace() };
      return client.call({ method, params, id, signal, ...common });
    },
  };
}

export const hello = { channel: "C1", text: "hello" };
/** What an agent answers a message with, without a task. */
export const answerWith = (text: string) => ({
  result: { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text }] } },
});
