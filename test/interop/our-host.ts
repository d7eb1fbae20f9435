/** Our Execution host on loopback, with its agent card and push notifications. */

import { a2aSchema } from "@sekisho/config/a2a-schema.ts";
import { type Cards, createCards } from "@sekisho/execution/a2a/cards.ts";
import { createPushDelivery } from "@sekisho/execution/a2a/push-delivery.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { createDelayedQueue } from "../doubles/delayed-queue.ts";
import { memoryStore } from "../execution/test-host.ts";

export type OurHost = { url: string; cardUrl: string; close: () => Promise<void> };

export async function startOurHost({
  agent,
  token,
  // Longer than a test may take, so that a call that waits for the budget fails.
  syncBudgetMs = 60_000,
  config = {},
}: {
  agent: Agent;
  /** Absent: everybody is admitted. */
  token?: string;
  syncBudgetMs?: number;
  /** `execution.a2a` of the configuration. */
  config?: object;
}): Promise<OurHost> {
  const store = memoryStore();
  const stopping = new AbortController();
  const notifications = createDelayedQueue({
    handle: (body) => delivery.handle({ body, signal: stopping.signal }),
  });
  const delivery = createPushDelivery({ store, queue: notifications, allowLoopback: true });
  let made: Cards | undefined;
  const cards: Cards = {
    endpoint: (request) => made?.endpoint(request) ?? { status: 503, headers: {}, body: "" },
    extended: (request) => made?.extended(request) as ReturnType<Cards["extended"]>,
  };
  const authenticator =
    token === undefined
      ? createNoneAuthenticator()
      : createBearerAuthenticator({ readTokens: async () => [token] });
  const a2a = { cards, notifications, allowLoopbackPush: true, firstSignMs: 30 };
  const host = createHost({ agent, store, authenticator, syncBudgetMs, progressMs: 1, a2a });
  const server = await startExecutionServer({ host, port: 0 });
  made = await createCards({
    a2a: a2aSchema.parse(config),
    url: `${server.url}/a2a`,
    authenticator:
      token === undefined ? { type: "none" } : { type: "bearer", tokens: [{ env: "TOKEN" }] },
    streaming: true,
    push: true,
    readSecret: () => Promise.reject(new Error("no secrets here")),
  });
  return {
    url: server.url,
    cardUrl: `${server.url}/.well-known/agent-card.json`,
    async close() {
      await host.stop({ graceMs: 0 });
      await server.close();
      stopping.abort();
      await notifications.close();
    },
  };
}
