/** What a caller of the Function URL does, as events of its function: JSON-RPC requests and looks at the card. */
import { randomUUID } from "node:crypto";
import type { AgentCard } from "../../../contracts/a2a/card.ts";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import type { FunctionUrlHandler } from "../../../lambdas/execution/handlers/function-url-handler.ts";
import type { A2aError } from "../a2a/a2a-host.ts";
import { callerArn, functionUrlEvent } from "./payloads/function-url.ts";

type EventOptions = NonNullable<Parameters<typeof functionUrlEvent>[0]>;
export type Asked<T> = { statusCode: number; result?: T; error?: A2aError };

/** An assumed role's session in the account of all callers. */
function roleArn(role: string): string {
  return callerArn.replace("sekisho-prod-verification", role);
}

export function lambdaClient({ handle, role = "a2a-client" }: { handle: FunctionUrlHandler; role?: string }) {
  const userArn = roleArn(role);

  function get(more: Record<string, string> = {}, options: EventOptions = {}) {
    return handle(functionUrlEvent({ method: "GET", path: "/.well-known/agent-card.json", userArn, more, ...options }));
  }

  async function ask<T = A2aTask>(method: string, params: unknown = {}, version = "1.0"): Promise<Asked<T>> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method, params });
    const more = version === "" ? {} : { "a2a-version": version };
    const { statusCode, body: text } = await handle(functionUrlEvent({ path: "/", body, userArn, more }));
    return { statusCode, ...JSON.parse(text) };
  }

  return {
    get,
    ask,
    card: async (): Promise<AgentCard> => JSON.parse((await get({ "a2a-version": "1.0" })).body),
    /** The same as `ask`, of which a result is expected. */
    async result<T = A2aTask>(method: string, params: unknown = {}, version = "1.0"): Promise<T> {
      const { result, error } = await ask<T>(method, params, version);
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    },
  };
}
