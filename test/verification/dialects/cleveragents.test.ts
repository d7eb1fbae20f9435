/** CleverAgents' dialect over a socket: its two published reproductions, and each of its own numbers. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { startCleverAgents } from "../../doubles/dialects/cleveragents.ts";
import { createDialectClient, toldBy } from "./dialect-client.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

async function agent(options: Parameters<typeof startCleverAgents>[0] = {}) {
  const server = await startCleverAgents(options);
  const client = createDialectClient({ url: server.url, dialect: "cleveragents" });
  toClose.push(server.close, client.close);
  return {
    unknownMethod: () => client.call({ method: "nonexistent/method", params: {} }),
    execute: (text: string) => client.call({ method: "execute_task", params: { channel: "C1", text } }),
  };
}

describe("a server of CleverAgents", () => {
  it("answers nonexistent/method with the integer -32601, which is method_not_found", async () => {
    const { unknownMethod } = await agent();
    expect(await unknownMethod()).toMatchObject({ reason: "method_not_found", code: -32601 });
  });

  it("that answers with a string for a code breaks the contract, whatever the string is", async () => {
    const { unknownMethod, execute } = await agent({ codes: "names" });
    expect(await unknownMethod()).toMatchObject({ reason: "invalid_response", code: undefined });
    expect(await execute("NOT_FOUND")).toMatchObject({ reason: "invalid_response", code: undefined });
  });

  it("answers params that are not valid with -32602, which is invalid_params", async () => {
    const { execute } = await agent();
    expect(await execute("")).toMatchObject({ reason: "invalid_params", code: -32602 });
  });

  it.each([
    ["NOT_FOUND", -32001, "task_not_found", false],
    ["AUTHENTICATION_REQUIRED", -32002, "unauthenticated", true],
    ["FORBIDDEN", -32003, "permission_denied", true],
    ["INVALID_STATE", -32004, "invalid_state", false],
    ["CONFLICT", -32005, "already_exists", true],
    ["BUDGET_EXCEEDED", -32006, "budget_exceeded", true],
    ["VERSION_MISMATCH", -32007, "version_not_supported", true],
    ["PLAN_ERROR", -32008, "plan_error", true],
    ["INTERNAL_ERROR", -32603, "internal", false],
  ])("says %s by %i, which is %s", async (name, code, reason, exact) => {
    const { execute } = await agent();
    expect(await execute(name)).toMatchObject({ code, reason, exact });
  });

  it("answers a task that it can do as every peer does", async () => {
    const { execute } = await agent();
    expect(toldBy(await execute("hello"))).toEqual({ result: { status: "success", response_text: "done: hello" } });
  });
});
