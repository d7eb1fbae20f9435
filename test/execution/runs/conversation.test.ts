/** The value that an agent keeps between the tasks of one conversation. */
import { describe, expect, it } from "@jest/globals";
import type { AgentConversation } from "@sekisho/execution/agents/agent.ts";
import { createConversation } from "@sekisho/execution/runs/conversation.ts";
import {
  type ConversationRecord,
  type ConversationStore,
  parseConversationRecord,
} from "@sekisho/execution/tasks/conversation-record.ts";
import { readItem } from "@sekisho/runtime/engine/records.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { createTestHost, hello, memoryConversations, remembering } from "../test-host.ts";

const startMs = 1_762_750_300_000;
const dayMs = 24 * 3600_000;
const timeoutMs = 1000;

/** Opens conversations of one store, on a clock that the test sets, and counts the calls. */
function openStore(stored = memoryConversations) {
  const clock = { nowMs: startMs };
  const now = () => clock.nowMs;
  const calls: string[] = [];
  const records = stored(now);
  const note =
    <Request, Result>(name: string, call: (request: Request) => Promise<Result>) =>
    (request: Request) => {
      calls.push(name);
      return call(request);
    };
  const store: ConversationStore = {
    get: note("get", records.get),
    create: note("create", records.create),
    replace: note("replace", records.replace),
  };
  const { lines, log } = collectLog({ service: "execution" });
  const ids = { principal: "p", session: "s", agentName: "a" };
  return {
    ...{ calls, clock, lines, records },
    open: (other: Partial<Parameters<typeof createConversation>[0]> = {}): AgentConversation =>
      createConversation({ store, ...ids, timeoutMs, now, log, ...other }),
  };
}

describe("the value of a conversation", () => {
  it("comes back in the next task, and not to another agent, caller or conversation", async () => {
    const { open } = openStore();
    await open().write({ id: "far-1", count: 1 });
    expect(await open().read()).toEqual({ id: "far-1", count: 1 });
    for (const other of [{ principal: "p2" }, { session: "s2" }, { agentName: "a2" }])
      expect(await open(other).read()).toBeUndefined();
  });

  it("costs one call to read, one to write after that, and none if it stays", async () => {
    const { open, calls } = openStore();
    const first = open();
    await first.read();
    await first.write("one");
    await first.write("two");
    await first.write("two");
    expect(calls).toEqual(["get", "create", "replace"]);
    const second = open();
    await second.read();
    await second.write("two");
    expect(calls.slice(3)).toEqual(["get"]);
    await open().write("two");
    expect(calls.slice(4)).toEqual(["get"]);
    expect(await open().read()).toBe("two");
  });

  it("stores what an agent changed in the object that it read", async () => {
    const { open } = openStore();
    await open().write({ list: [1] });
    const conversation = open();
    const kept = (await conversation.read()) as { list: number[] };
    kept.list.push(2);
    await conversation.write(kept);
    expect(await open().read()).toEqual({ list: [1, 2] });
  });

  it("stores the value of the call, whatever the agent does with it meanwhile", async () => {
    const { open } = openStore();
    const value = { text: "early" };
    const writing = open().write(value);
    value.text = "late";
    await writing;
    expect(await open().read()).toEqual({ text: "early" });
  });

  it("lives 30 days after its last use, also if it never changes", async () => {
    const { open, clock } = openStore();
    await open().write("id");
    for (let use = 0; use < 4; use++) {
      clock.nowMs += 29 * dayMs;
      const conversation = open();
      expect(await conversation.read()).toBe("id");
      await conversation.write("id");
    }
    clock.nowMs += 30 * dayMs;
    expect(await open().read()).toBeUndefined();
  });

  it("goes when the agent writes undefined", async () => {
    const { open } = openStore();
    await open().write("id");
    await open().write(undefined);
    expect(await open().read()).toBeUndefined();
    await open().write("again");
    expect(await open().read()).toBe("again");
  });

  it("does not come back after it was erased while a task had it", async () => {
    let isErased = false;
    const { open, calls } = openStore((now) => {
      const records = memoryConversations(now);
      return {
        ...records,
        get: async (request) => (isErased ? undefined : records.get(request)),
        replace: async (request) => (isErased ? undefined : records.replace(request)),
      };
    });
    await open().write("of a person");
    const conversation = open();
    await conversation.read();
    isErased = true;
    await conversation.write("of a person, and more");
    await conversation.write("and even more");
    expect(calls.filter((name) => name === "create")).toHaveLength(1);
    const next = open();
    expect(await next.read()).toBeUndefined();
  });

  it("stays the last one when tasks write at the same time", async () => {
    const { open } = openStore();
    const [one, other] = [open(), open()];
    await Promise.all([one.read(), other.read()]);
    await one.write("one");
    await other.write("other");
    expect(await open().read()).toBe("other");
    await Promise.all(Array.from({ length: 20 }, (_, index) => open().write(index)));
    expect(await open().read()).toEqual(expect.any(Number));
  });

  it.each<[string, unknown, RegExp]>([
    ["more than 64 KiB", "x".repeat(64 * 1024 - 1), /64 KiB/],
    ["a function", () => {}, /takes JSON/],
    ["deep nesting", JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`), /nested/],
    ["a big number", 1n, /BigInt/],
  ])("refuses %s, also for a caller that names no conversation", async (_what, value, reason) => {
    const { open, calls } = openStore();
    await expect(open().write(value)).rejects.toThrow(reason);
    await expect(open({ session: undefined }).write(value)).rejects.toThrow(reason);
    expect(calls).toEqual([]);
  });

  it("takes exactly 64 KiB, and every kind of JSON", async () => {
    const { open } = openStore();
    for (const value of ["x".repeat(64 * 1024 - 2), null, 0, "", [], { __proto__x: "\ud800" }]) {
      await open().write(value);
      expect(await open().read()).toEqual(value);
    }
  });

  it("stays nowhere for a caller that names no conversation", async () => {
    const { open, calls } = openStore();
    const conversation = open({ session: undefined });
    await conversation.write("x");
    expect(await conversation.read()).toBeUndefined();
    expect(calls).toEqual([]);
  });

  it("rejects with unavailable when the store fails, and logs no value", async () => {
    const failure = async () => Promise.reject(new Error("a secret cause"));
    const { open, lines } = openStore(
      () => ({ get: failure, create: failure, replace: failure }) as never,
    );
    await expect(open().read()).rejects.toMatchObject({ reason: "unavailable" });
    await expect(open().write("a text")).rejects.toMatchObject({ reason: "unavailable" });
    expect(lines.map((line) => JSON.parse(line).operation)).toEqual([
      "conversation_read",
      "conversation_read",
    ]);
    expect(lines.join("")).not.toMatch(/secret|a text/);
  });

  it("has a record that does not hold the caller's id, and keeps its form", async () => {
    const { open, records } = openStore();
    await open({ session: "s-secret" }).write({ id: "far-1" });
    const { items } = await records.list({ index: "state", key: "conversation", limit: 9 });
    expect(items).toEqual([
      {
        ...{ revision: 1, state: "conversation", expiresAtMs: startMs + 30 * dayMs },
        id: "b301334f-1064-8ac9-b1b6-55fdd91b33ee",
        sessionKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
        value: { id: "far-1" },
      },
    ]);
    const text =
      '{"id":"i","revision":3,"state":"conversation","expiresAtMs":5,"sessionKey":"k","value":[1],"later":true,"recordVersion":"1.0.0"}';
    expect(readItem({ text, parse: parseConversationRecord })).toMatchObject({
      ...{ value: [1], later: true },
    });
  });
});

describe("a host whose agent keeps something", () => {
  it("gives it back in the next task of the same session", async () => {
    const conversations = memoryConversations();
    const options = { agent: remembering, conversations };
    const answer = async (text: string, session_id?: string) =>
      (await createTestHost(options).call("execute_task", { ...hello, text, session_id })).result
        ?.response_text;
    const session = "s-".padEnd(40, "1");
    expect(await answer("one", session)).toBe("before: undefined");
    expect(await answer("two", session)).toBe("before: one");
    expect(await answer("three", "s-".padEnd(40, "2"))).toBe("before: undefined");
    expect(await answer("four")).toBe("before: undefined");
    expect(await answer("five")).toBe("before: undefined");
  });

  it("separates its agents by their names", async () => {
    const conversations = memoryConversations();
    const agentNames = ["ops", "research"];
    const { call } = createTestHost({ agent: remembering, conversations, agentNames });
    const session_id = "s-".padEnd(40, "1");
    const answer = async (agent?: string) =>
      (await call("execute_task", { ...hello, text: String(agent), session_id, agent })).result
        ?.response_text;
    expect(await answer()).toBe("before: undefined");
    expect(await answer("ops")).toBe("before: undefined");
    expect(await answer("research")).toBe("before: undefined");
    expect(await answer("ops")).toBe("before: ops");
  });

  it("does not call the store for an agent that keeps nothing", async () => {
    const calls: string[] = [];
    const fail = async (request: { id: string } | { item: ConversationRecord }) => {
      calls.push(JSON.stringify(request));
      throw new Error("nobody calls this");
    };
    const conversations = { get: fail, create: fail, replace: fail };
    const { call } = createTestHost({ conversations } as never);
    const session_id = "s-".padEnd(40, "1");
    expect((await call("execute_task", { ...hello, session_id })).result?.status).toBe("success");
    expect(calls).toEqual([]);
  });
});
