/** Our own host behind one path for each dialect, called by our own client that is configured for it: both choose the same. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Dialect, dialectSchema, listErrorCodes, toHttpStatus } from "../../../contracts/dialects.ts";
import { type Reason, SekishoError } from "../../../contracts/errors.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { startExecutionServer } from "../../../lambdas/execution/http/server.ts";
import { createGate, createTestHost } from "../../execution/test-host.ts";
import { createDialectClient, type DialectClient, toldBy } from "./dialect-client.ts";

const dialects = dialectSchema.options;

const agent: Agent = async function* ({ text }) {
  if (text === "throw") throw new Error("secret words of an exception");
  if (text === "no plan") yield { type: "failure", reason: "plan_error" };
  else yield { type: "answer", text: "done" };
};

let url = "";
const toClose: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const paths = Object.fromEntries(dialects.map((dialect) => [`/in/${dialect}`, dialect] as const));
  const { host } = createTestHost({ agent, dialects: paths });
  const server = await startExecutionServer({ host, port: 0 });
  toClose.push(server.close, () => host.stop({ graceMs: 0 }));
  url = server.url;
});
afterAll(async () => {
  for (const close of toClose.splice(0)) await close();
});

/** What leads to each refusal; all of them end in an error of the host itself. */
const ways: Readonly<Partial<Record<Reason, (client: DialectClient) => Promise<unknown>>>> = {
  method_not_found: (client) => client.call({ method: "nonexistent/method", params: {} }),
  invalid_params: (client) => client.call({ method: "execute_task", params: { channel: "", text: "t" } }),
  task_not_found: (client) => client.call({ method: "get_task", params: { task_id: "t-1" } }),
  execution_failed: (client) => execute({ client, text: "throw" }),
  plan_error: (client) => execute({ client, text: "no plan" }),
  async already_exists(client) {
    const id = randomUUID();
    await execute({ client, text: "one", id });
    return execute({ client, text: "another", id });
  },
  async invalid_state(client) {
    const id = randomUUID();
    await execute({ client, text: "one", id });
    return client.call({ method: "cancel_task", params: { request_id: id } });
  },
};

function execute({ client, text, ...rest }: { client: DialectClient; text: string; id?: string }): Promise<unknown> {
  return client.call({ method: "execute_task", params: { channel: "C1", text }, ...rest });
}

describe.each(dialects)("a path of our host with the dialect %s", (dialect: Dialect) => {
  it.each(Object.entries(ways))("says %s so that a client of that dialect reads it as it was", async (name, way) => {
    const reason = name as Reason;
    const client = createDialectClient({ url: `${url}/in/${dialect}`, dialect });
    const outcome = await way(client);
    await client.close();
    expect(toldBy(outcome)).toMatchObject({ reason, exact: true, message: new SekishoError(reason).message });
    expect(listErrorCodes({ reason, dialect })).toContain((outcome as SekishoError).code);
    expect(JSON.stringify(toldBy(outcome))).not.toContain("secret");
  });

  it("says when a caller with too many runs may come again, so that the client retries", async () => {
    const gate = createGate();
    const { host } = createTestHost({
      ...{ agent: gate.agent, syncBudgetMs: 0, dialects: { "/in": dialect } },
      limits: { runsPerCaller: 1, openCallsPerCaller: 1 },
    });
    const server = await startExecutionServer({ host, port: 0 });
    const client = createDialectClient({ url: `${server.url}/in`, dialect });
    await execute({ client, text: "one" });
    const refused = await execute({ client, text: "another" });
    await client.close();
    gate.letGo();
    await server.close();
    expect(refused).toMatchObject({ reason: "rate_limited", retryable: true });
    expect((refused as SekishoError).details.retry_after_ms).toBeGreaterThanOrEqual(15_000);
  });

  it("says with the error where the task stands, where it was to go, and which it is", async () => {
    const client = createDialectClient({ url: `${url}/in/${dialect}`, dialect });
    const refused = await ways.invalid_state?.(client);
    const failed = await ways.execution_failed?.(client);
    await client.close();
    const ids = { task_id: expect.any(String), correlation_id: expect.any(String) };
    expect(toldBy(refused).details).toEqual({ ...ids, current: "completed", target: "canceled" });
    expect(toldBy(failed).details).toEqual(ids);
  });

  it("has the status and the id on the wire that the dialect asks for", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "get_task", params: { task_id: "t-1" } });
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.timeout(25_000);
    const response = await fetch(`${url}/in/${dialect}`, { method: "POST", headers, body, signal });
    const answer = (await response.json()) as { id?: string };
    const isVapora = dialect === "vapora";
    expect(response.status).toBe(isVapora ? toHttpStatus("task_not_found") : 200);
    expect(answer.id).toBe(isVapora ? undefined : "1");
  });
});
