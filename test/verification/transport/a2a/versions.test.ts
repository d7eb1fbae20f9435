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
