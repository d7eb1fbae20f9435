import { describe, expect, it } from "@jest/globals";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import type { AgentCall } from "../../../doubles/a2a-peer-agent.ts";
import { json } from "../../../doubles/answers.ts";
import { agentOf, clientTo, hello, said } from "./sample.ts";

const refusals = {
  "-32009": { error: { code: -32009, message: "VersionNotSupportedError" } },
  "-32601": { error: { code: -32601, message: "Method not found" } },
};

const bothVersions = (_: Request, base: string) =>
  json({
    name: "an agent",
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      ...{ url: `${base}/a2a`, protocolBinding: "JSONRPC", protocolVersion },
    })),
  });

const versionOf = ({ headers }: AgentCall) => headers.get("a2a-version");
const inV03 = { result: { kind: "message", messageId: "m1", role: "agent", parts: [{ kind: "text", text: "hi" }] } };

describe("an agent that does not take the version that its card names", () => {
  it.each(Object.values(refusals))("gets the other one, and from then on at once: %j", async (refusal) => {
    const agent = await agentOf({
      card: bothVersions,
      answer: (call) => (versionOf(call) === "1.0" ? refusal : inV03),
    });
    const { call } = clientTo(agent.cardUrl);
    for (const _ of [1, 2]) expect(await call("execute_task", hello)).toMatchObject({ response_text: "hi" });
    expect(agent.calls.map(versionOf)).toEqual(["1.0", "0.3", "0.3"]);
    expect(agent.gets).toHaveLength(2);
    expect(agent.calls[1]?.params.message).toMatchObject({ messageId: agent.calls[0]?.id });
  });

  it("may have been updated since: its new card decides", async () => {
    let version: "1.0" | "0.3" = "0.3";
    const agent = await agentOf({
      card: (_, base) => json(cardOf({ url: `${base}/${version}`, version })),
      answer: (call) => {
        if (versionOf(call) !== version) return refusals["-32009"];
        return version === "1.0" ? said("hi") : inV03;
      },
    });
    const { call } = clientTo(agent.cardUrl);
    await call("execute_task", hello);
    version = "1.0";
    expect(await call("execute_task", hello)).toMatchObject({ response_text: "hi" });
    expect(agent.calls.map(({ path }) => path)).toEqual(["/0.3", "/0.3", "/1.0"]);
  });

  it.each(Object.values(refusals))(
    "and names no other is asked once more for its card, and not again: %j",
    async (refusal) => {
      const agent = await agentOf({ answer: () => refusal });
      await expect(clientTo(agent.cardUrl).call("execute_task", hello)).rejects.toMatchObject({
        code: refusal.error.code,
        undelivered: false,
      });
      expect([agent.calls.length, agent.gets.length]).toEqual([1, 2]);
    },
  );

  it("in both versions is called in each once", async () => {
    const agent = await agentOf({ card: bothVersions, answer: () => refusals["-32009"] });
    const { call } = clientTo(agent.cardUrl);
    await expect(call("execute_task", hello)).rejects.toMatchObject({ reason: "version_not_supported" });
    expect(agent.calls.map(versionOf)).toEqual(["1.0", "0.3"]);
  });

  it("is called by its old card where the new one cannot be had", async () => {
    let count = 0;
    const agent = await agentOf({
      card: (request, base) => (count++ === 0 ? bothVersions(request, base) : json({}, { status: 500 })),
      answer: (call) => (versionOf(call) === "1.0" ? refusals["-32009"] : inV03),
    });
    expect(await clientTo(agent.cardUrl).call("execute_task", hello)).toMatchObject({ response_text: "hi" });
  });

  it.each([-32602, -32603, -32004])("is told from one that refuses the message itself (%i)", async (code) => {
    const agent = await agentOf({ card: bothVersions, answer: () => ({ error: { code, message: "no" } }) });
    await expect(clientTo(agent.cardUrl).call("execute_task", hello)).rejects.toMatchObject({ code });
    expect(agent.calls).toHaveLength(1);
  });
});

describe("a word about another request", () => {
  it.each([
    ["-32009", "somebody-elses"],
    ["-32601", "somebody-elses"],
    ["-32601", null],
  ] as const)("is no reason to send the message again (%s for %s)", async (code, id) => {
    const agent = await agentOf({
      card: bothVersions,
      answer: (call) => (versionOf(call) === "1.0" ? json({ jsonrpc: "2.0", id, ...refusals[code] }) : inV03),
    });
    const { call } = clientTo(agent.cardUrl);
    await expect(call("execute_task", hello)).rejects.toMatchObject({ undelivered: false });
    expect(agent.calls.map(versionOf)).toEqual(["1.0"]);
  });

  it("is one from an agent that could not read the id of a version that it does not know", async () => {
    const refusal = { jsonrpc: "2.0", id: null, ...refusals["-32009"] };
    const agent = await agentOf({
      card: bothVersions,
      answer: (call) => (versionOf(call) === "1.0" ? json(refusal) : inV03),
    });
    expect(await clientTo(agent.cardUrl).call("execute_task", hello)).toMatchObject({ response_text: "hi" });
  });
});

describe("an operation that an agent lacks", () => {
  const calls = {
    GetTask: ["get_task", { task_id: "t1" }],
    CancelTask: ["cancel_task", { task_id: "t1" }],
    ListTasks: ["get_task", { request_id: "r1" }],
  } as const;
  it.each(Object.entries(calls))("moves nothing to another version: %s", async (lacked, [method, params]) => {
    const agent = await agentOf({
      card: bothVersions,
      answer: (call) => (call.method === lacked ? refusals["-32601"] : said("hi")),
    });
    const { call } = clientTo(agent.cardUrl);
    await expect(call(method, params)).rejects.toMatchObject({ reason: "method_not_found" });
    expect(await call("execute_task", hello)).toMatchObject({ response_text: "hi" });
    expect(agent.calls.map(versionOf)).toEqual(["1.0", "1.0"]);
    expect(agent.gets).toHaveLength(1);
  });
});

describe("another tenant", () => {
  const cardFor =
    (...tenants: string[]) =>
    (_: Request, base: string) =>
      json({
        name: "an agent",
        supportedInterfaces: tenants.map((tenant) => ({
          ...{ url: `${base}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant },
        })),
      });
  const tenantsOf = (calls: readonly AgentCall[]) => calls.map(({ params }) => params.tenant);

  it("of the same card gets no message of the first", async () => {
    const agent = await agentOf({ card: cardFor("acme", "other-corp"), answer: () => refusals["-32009"] });
    const { call } = clientTo(agent.cardUrl);
    for (const _ of [1, 2]) await expect(call("execute_task", hello)).rejects.toMatchObject({ code: -32009 });
    expect(tenantsOf(agent.calls)).toEqual(["acme", "acme"]);
  });

  it("that a newer card names gets what is said from then on, and not what the first refused", async () => {
    let card = cardFor("acme");
    const agent = await agentOf({
      card: (...asked) => card(...asked),
      answer: ({ params }) => (params.tenant === "acme" ? refusals["-32009"] : said("hi")),
    });
    const { call } = clientTo(agent.cardUrl);
    const stop = await call("execute_task", hello).catch(() => "refused");
    card = cardFor("other-corp");
    await expect(call("execute_task", hello)).rejects.toMatchObject({ code: -32009 });
    expect([stop, await call("execute_task", hello)]).toMatchObject(["refused", { response_text: "hi" }]);
    expect(tenantsOf(agent.calls)).toEqual(["acme", "acme", "other-corp"]);
  });
});

describe("the version that the configuration pins", () => {
  it("is spoken although the agent has a higher one", async () => {
    const agent = await agentOf({ card: bothVersions, answer: () => inV03 });
    await clientTo(agent.cardUrl, { version: "0.3" }).call("execute_task", hello);
    expect(agent.calls.map(versionOf)).toEqual(["0.3"]);
    expect(agent.gets[0]?.headers.get("a2a-version")).toBe("0.3");
  });

  it("is not left where the agent refuses it", async () => {
    const agent = await agentOf({ card: bothVersions, answer: () => refusals["-32009"] });
    const { call } = clientTo(agent.cardUrl, { version: "1.0" });
    await expect(call("execute_task", hello)).rejects.toMatchObject({ reason: "version_not_supported" });
    expect(agent.calls.map(versionOf)).toEqual(["1.0"]);
  });
});
