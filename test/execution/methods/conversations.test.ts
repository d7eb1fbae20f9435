/** A conversation is its caller's: what an agent remembers under `contextId` is out of reach of every other caller. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import type { Authenticator } from "../../../lambdas/execution/http/exchange.ts";
import { startA2aHost, userMessage } from "../a2a/a2a-host.ts";
import { closedAfterEach } from "../a2a/closed-after-each.ts";
import { createTestHost } from "../test-host.ts";

const serve = closedAfterEach(startA2aHost);
const session_id = `s-${"0".repeat(64)}`;

/** Whoever says a name in a header is that principal. */
const byName: Authenticator = { kind: "jwt", authenticate: async ({ header }) => header("x-name") };

/** Answers with what was said before in the same conversation, and who says it. */
function remembering(): Agent {
  const memory = new Map<string | undefined, string[]>();
  return async function* (task, { contextId, caller }) {
    const before = memory.get(contextId) ?? [];
    memory.set(contextId, [...before, task.text]);
    yield { type: "answer", text: JSON.stringify({ before, contextId, caller, task }) };
  };
}

type Told = { before: string[]; contextId?: string; caller: string; task: object };

describe("what an agent remembers of a conversation", () => {
  function startZone() {
    const { call } = createTestHost({ agent: remembering(), authenticator: byName });
    return async (name: string, params: object): Promise<Told> => {
      const { result } = await call("execute_task", { channel: "C1", ...params }, { headers: { "x-name": name } });
      return JSON.parse(result?.response_text ?? "{}");
    };
  }

  it("is found by the caller who said it, and by no other one with the same session id", async () => {
    const ask = startZone();
    const first = await ask("kim", { text: "my secret", session_id });
    const again = await ask("kim", { text: "and now?", session_id });
    const other = await ask("lee", { text: "what did they say?", session_id });
    expect([first.before, again.before, other.before]).toEqual([[], ["my secret"], []]);
    expect(again.contextId).toBe(first.contextId);
    expect(other.contextId).not.toBe(first.contextId);
  });

  it("cannot be reached by sending the id that the agent gets", async () => {
    const ask = startZone();
    const { contextId = "" } = await ask("kim", { text: "my secret", session_id });
    expect((await ask("lee", { text: "?", session_id: `${contextId}` })).before).toEqual([]);
  });

  it("is not in the task under any other key of the caller's choice", async () => {
    const { task } = await startZone()("kim", { text: "hello", session_id });
    expect(JSON.stringify(task)).not.toContain(session_id);
  });

  it("is none where the caller names no conversation", async () => {
    expect((await startZone()("kim", { text: "hello" })).contextId).toBeUndefined();
  });

  it("is apart over A2A as well, where each client reads the context id that it sent", async () => {
    const host = await serve({ agent: remembering(), authenticator: byName });
    const say = async (name: string, text: string) => {
      const message = userMessage(text, { contextId: "the deal", messageId: randomUUID() });
      const options = { headers: { "x-name": name } };
      const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message }, options);
      const told: Told = JSON.parse(task.status.message?.parts[0]?.text ?? "{}");
      return { ...told, wire: [task.contextId, task.history?.[0]?.contextId] };
    };
    const said = [await say("kim", "my secret"), await say("kim", "and now?"), await say("lee", "what is it?")];
    expect(said.map(({ before }) => before)).toEqual([[], ["my secret"], []]);
    for (const { wire } of said) expect(wire).toEqual(["the deal", "the deal"]);
    expect(said.some(({ contextId }) => contextId?.includes("deal"))).toBe(false);
  });
});

describe("the caller as an agent knows it", () => {
  it("is the same in all conversations of one principal, another one for each principal, and says nothing of it", async () => {
    const { call } = createTestHost({ agent: remembering(), authenticator: byName });
    const callerOf = async (name: string, session?: string) => {
      const params = { channel: "C1", text: "hi", ...(session && { session_id: session }) };
      const { result } = await call("execute_task", params, { headers: { "x-name": name } });
      return (JSON.parse(result?.response_text ?? "{}") as Told).caller;
    };
    const kim = [await callerOf("kim"), await callerOf("kim", session_id)];
    expect(new Set(kim).size).toBe(1);
    expect(await callerOf("lee")).not.toBe(kim[0]);
    expect(kim[0]).toMatch(/^[0-9a-f-]{36}$/);
  });
});
