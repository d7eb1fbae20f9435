/** Transports to agents of bare answers, and calls over them. */
import { randomUUID } from "node:crypto";
import { afterEach } from "@jest/globals";
import type { MethodName, ParamsOf, ResultOf } from "../../../../contracts/methods.ts";
import { silentLog } from "../../../../lambdas/shared/log.ts";
import { createTrace } from "../../../../lambdas/shared/telemetry/telemetry.ts";
import { createA2aTransport } from "../../../../lambdas/verification/transport/a2a/transport.ts";
import { noAuthorizer } from "../../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createClient } from "../../../../lambdas/verification/transport/runner.ts";
import { startAgent } from "../../../doubles/a2a-peer-agent.ts";

export const sessionId = `session-${"0123456789".repeat(4)}`;

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

export async function agentOf(options: Parameters<typeof startAgent>[0]) {
  const agent = await startAgent(options);
  toClose.push(agent.close);
  return agent;
}

/** A client without repetitions over the transport, so that a failure is that of one attempt. */
export function clientTo(cardUrl: string, options: Partial<Parameters<typeof createA2aTransport>[0]> = {}) {
  const transport = createA2aTransport({ cardUrl, authorizer: noAuthorizer, ...options });
  toClose.push(async () => transport.close?.());
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
export const said = (text: string) => ({
  result: { message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text }] } },
});
