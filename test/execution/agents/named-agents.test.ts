/** Several agents of one host: a task chooses one by its name. */
import { describe, expect, it } from "@jest/globals";
import { type Agent, type AgentVote, withFeedback } from "@sekisho/execution/agents/agent.ts";
import { type CreateAgent, createAgents } from "@sekisho/execution/agents/create-agent.ts";
import { combineAgents } from "@sekisho/execution/agents/named-agents.ts";
import { answering, createTestHost, hello } from "../test-host.ts";

const requestId = "4c2f4fea-0f0b-4d6e-9a53-2f1b6e1f7a10";

/** A main agent without a name, and others by name. */
function withNames({ main, named }: { main: Agent; named: ReadonlyMap<string, Agent> }): Agent {
  return combineAgents({ agents: new Map([[undefined, main], ...named]), mainName: undefined });
}

function hostWithTwo() {
  const votes: AgentVote[] = [];
  const research = withFeedback(answering("from research"), (vote: AgentVote) => votes.push(vote));
  const agent = withNames({
    main: answering("from the main agent"),
    named: new Map([["research", research]]),
  });
  return { votes, ...createTestHost({ agent, agentNames: ["research"] }) };
}

const dependencies = {
  readSecret: async () => "",
  region: undefined,
  credentials: () => Promise.reject(new Error("no credentials")),
};

describe("an agent that cannot be created", () => {
  const createAgent: CreateAgent = ({ config }) => {
    if (config === "./broken.ts") throw Object.assign(new Error("hunter2"), { code: "ERR_BROKEN" });
    return answering("from another one");
  };

  it("fails its own tasks only, and says so in the log", async () => {
    const execution = { agent: "./main.ts", agents: { broken: "./broken.ts" } };
    const agent = createAgents({ execution, createAgent, dependencies });
    const { call, lines } = createTestHost({ agent, agentNames: ["broken"] });
    const main = await call("execute_task", hello);
    expect(main.result?.response_text).toBe("from another one");
    const { error } = await call("execute_task", { ...hello, agent: "broken" });
    expect(error?.data.reason).toBe("execution_failed");
    const text = lines.join("\n");
    expect(text).toMatch(/"agent_not_loaded".*"cause_kind":"ERR_BROKEN"/);
    expect(text).not.toContain("hunter2");
  });

  it("stops the start if there is no other", () => {
    const execution = { agent: "./broken.ts", agents: { broken: "./broken.ts" } };
    expect(() => createAgents({ execution, createAgent, dependencies })).toThrow("hunter2");
  });
});

describe("the agents of a host", () => {
  it("runs a task with the agent of its name, and one without a name with the main agent", async () => {
    const { call } = hostWithTwo();
    const named = await call("execute_task", { ...hello, agent: "research" });
    expect(named.result?.response_text).toBe("from research");
    const unnamed = await call("execute_task", hello);
    expect(unnamed.result?.response_text).toBe("from the main agent");
  });

  it.each(["nobody", "constructor", "Research"])(
    "refuses a task for the unknown agent %s and stores nothing",
    async (agent) => {
      const { call, store } = hostWithTwo();
      const { error } = await call("execute_task", { ...hello, agent }, { id: requestId });
      expect(error?.data.reason).toBe("agent_not_found");
      expect((await store.list({ index: "state", key: "submitted", limit: 1 })).items).toEqual([]);
    },
  );

  it("refuses a repeated request id for another agent", async () => {
    const { call } = hostWithTwo();
    await call("execute_task", { ...hello, agent: "research" }, { id: requestId });
    const { error } = await call("execute_task", hello, { id: requestId });
    expect(error?.data.reason).toBe("already_exists");
  });

  it("passes a vote to the agent that gave the answer", async () => {
    const { call, votes } = hostWithTwo();
    await call("execute_task", { ...hello, agent: "research" }, { id: requestId });
    const vote = { vote: "up", voter_id: "v1", voted_at: "2026-11-26T08:00:00Z" };
    await call("feedback", { request_id: requestId, ...vote });
    expect(votes).toMatchObject([{ agent: "research", vote: "up" }]);
    await call("execute_task", hello, { id: requestId.replace("4c", "5c") });
    await call("feedback", { request_id: requestId.replace("4c", "5c"), ...vote });
    expect(votes).toHaveLength(1);
  });

  it("names the agent of the task in log lines", async () => {
    const { call, lines } = hostWithTwo();
    await call("execute_task", { ...hello, agent: "research" }, { id: requestId });
    const started = lines.find((line) => line.includes("task_started"));
    expect(JSON.parse(started ?? "")).toMatchObject({ agent: "research" });
  });
});

/** A host of a version that has another set of agents reads the tasks that the former one stored. */
describe("a task of an agent that the host no longer has", () => {
  function upgradedHost(options: Parameters<typeof createTestHost>[0] = {}) {
    const research = withFeedback(answering("from research"), () => {
      throw new Error("is the wrong agent");
    });
    const agent = withNames({
      main: withFeedback(answering("from the main agent"), () => {
        throw new Error("is the wrong agent");
      }),
      named: new Map([["research", research]]),
    });
    return createTestHost({ agent, agentNames: ["research"], ...options });
  }

  it("fails instead of being run by another agent, and the log says why", async () => {
    // Its host did not start it, as if it waited in a queue.
    const { call, lines } = upgradedHost({ agentNames: ["research", "gone"] });
    const { error } = await call("execute_task", { ...hello, agent: "gone" });
    expect(error?.data.reason).toBe("execution_failed");
    expect(error?.data.lost).toBeUndefined();
    expect(lines.join("\n")).toContain("agent_unknown");
  });

  it("stays found by a repeated request", async () => {
    const former = upgradedHost({ agentNames: ["research", "gone"] });
    await former.call("execute_task", { ...hello, agent: "gone" }, { id: requestId });
    const { call } = upgradedHost({ store: former.store });
    const { error } = await call("execute_task", { ...hello, agent: "gone" }, { id: requestId });
    expect(error?.data.reason).toBe("execution_failed");
    const other = await call("execute_task", { ...hello, agent: "gone" });
    expect(other.error?.data.reason).toBe("agent_not_found");
  });

  it("keeps a vote from other agents", async () => {
    const former = createTestHost({
      agent: withNames({
        main: answering("main"),
        named: new Map([["gone", answering("gone")]]),
      }),
      agentNames: ["gone"],
    });
    await former.call("execute_task", { ...hello, agent: "gone" }, { id: requestId });
    const { call } = upgradedHost({ store: former.store });
    const vote = { vote: "up", voter_id: "v1", voted_at: "2026-11-26T08:00:00Z" };
    const { result } = await call("feedback", { request_id: requestId, ...vote });
    expect(result?.status).toBe("recorded");
  });

  it("fails also in a host whose only agent is the main one", async () => {
    const agent = withNames({ main: answering("from the main agent"), named: new Map() });
    const { call } = createTestHost({ agent, agentNames: ["gone"] });
    const { error } = await call("execute_task", { ...hello, agent: "gone" });
    expect(error?.data.reason).toBe("execution_failed");
  });
});
