/** A2A over AgentCore: the card by GetAgentCard, and what the platform keeps from the container. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import { awsError, startAgentCoreStub } from "../../../doubles/agentcore-stub.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { closeAfterTest } from "../../../doubles/serving.ts";
import { common } from "../../../tables/transport-sample.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import { answerWith, hello } from "../a2a/sample.ts";
import { credentials, runtimeArn } from "./sample.ts";

type Call = { id: string; method: string; version: string | null };

const cardOfRuntime = (version: "1.0" | "0.3" = "1.0") =>
  json(cardOf({ url: "http://127.0.0.1:9000/", version }));

/** A runtime of the protocol A2A, and our client to it. */
async function open({
  card = () => cardOfRuntime(),
  answer = ({ id }) => json({ jsonrpc: "2.0", id, ...answerWith("done") }),
  ...options
}: {
  card?: () => Response;
  answer?: (call: Call) => Response;
} & Partial<Parameters<typeof startAgentCoreStub>[0]> = {}) {
  const calls: Call[] = [];
  const stub = await startAgentCoreStub({
    protocol: "A2A",
    allowedHeaders: ["A2A-Version"],
    runtimeArn,
    credentials,
    async handle(request) {
      if (request.method === "GET") return card();
      const { id, method } = JSON.parse(await request.text());
      const call = { id, method, version: request.headers.get("a2a-version") };
      calls.push(call);
      return answer(call);
    },
    ...options,
  });
  const transport = createA2aTransport({
    carrier: createAgentCoreTransport({
      runtimeArn,
      endpoint: stub.endpoint,
      credentials: async () => credentials,
    }),
  });
  closeAfterTest(stub);
  closeAfterTest(transport);
  const client = createClient({
    transport,
    destination: { name: "agent", dialect: "a2a", idempotent: false, callTimeoutMs: 25_000 },
    log: silentLog,
    sleep: () => Promise.reject(new Error("no repetition here")),
  });
  const execute = () =>
    client.call({ method: "execute_task", params: hello, id: randomUUID(), ...common });
  return { stub, calls, transport, execute };
}

describe("the card of a runtime of AgentCore", () => {
  it("reads the card once, in the session of the call that needs it, and follows no address in it", async () => {
    const { stub, calls, execute } = await open();
    expect(await execute()).toMatchObject({ status: "success", response_text: "done" });
    await execute();
    expect(stub.cardSessions).toEqual([common.sessionId]);
    expect(stub.sessions).toEqual([common.sessionId, common.sessionId]);
    expect(calls.map(({ method, version }) => [method, version])).toEqual([
      ["SendMessage", "1.0"],
      ["SendMessage", "1.0"],
    ]);
    expect(stub.problems).toEqual([]);
  });

  it("describes the agent by its name, the ARN of the runtime and the version", async () => {
    const { transport } = await open();
    expect(
      await transport.describe?.({ sessionId: common.sessionId, signal: hangSignal() }),
    ).toEqual({ name: "an agent", url: runtimeArn, version: "1.0" });
  });

  const ofSize = (bytes: number) =>
    json({ ...cardOf({ url: "http://127.0.0.1:9000/", version: "1.0" }), x: "x".repeat(bytes) });

  it("reads a card of 200 KB", async () => {
    const { execute } = await open({ card: () => ofSize(200_000) });
    expect(await execute()).toMatchObject({ status: "success" });
  });

  it.each<[string, () => Response, string]>([
    ["is larger than 256 KiB", () => ofSize(300_000), "CardTooLarge"],
    [
      "is a web page",
      () => raw("<html>", { headers: { "content-type": "text/html" } }),
      "CardIsHtml",
    ],
    ["is not JSON", () => raw("{"), "CardIsNotJson"],
    ["is empty", () => raw(""), "CardIsNotJson"],
    ["is another document", () => json({ openapi: "3.1.0" }), "CardIsForeign"],
    ["is null", () => json(null), "CardIsForeign"],
    [
      "has prototype keys only",
      () => raw('{"__proto__":{"name":"x"},"constructor":{}}'),
      "CardIsForeign",
    ],
    [
      "offers no JSON-RPC",
      () =>
        json({
          ...cardOf({ url: "http://127.0.0.1:9000/", version: "1.0" }),
          supportedInterfaces: [
            { url: "https://a.example/", protocolBinding: "GRPC", protocolVersion: "1.0" },
          ],
        }),
      "CardWithoutJsonRpc",
    ],
  ])("sends nothing and names the problem if the card %s", async (_title, card, name) => {
    const { stub, execute } = await open({ card });
    await expect(execute()).rejects.toMatchObject({
      certainty: "undelivered",
      cause: { name },
    });
    expect(stub.sessions).toEqual([]);
  });

  it("says that a runtime of another protocol has no card", async () => {
    const { stub, execute } = await open({ protocol: "HTTP" });
    await expect(execute()).rejects.toMatchObject({
      reason: "invalid_response",
      certainty: "undelivered",
      cause: { message: expect.stringContaining("protocol of the runtime is A2A") },
    });
    expect(stub.sessions).toEqual([]);
  });

  it.each<[string, () => Response, string]>([
    ["a denied permission", () => awsError(403, "AccessDeniedException"), "permission_denied"],
    ["a missing runtime", () => awsError(404, "ResourceNotFoundException"), "agent_not_found"],
    ["a container that fails", () => awsError(424, "RuntimeClientError"), "unavailable"],
    ["a failure of the platform", () => raw("<html>", { status: 502 }), "unavailable"],
    [
      "a throttled call, as a success",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -32503, message: "slow down" } }),
      "rate_limited",
    ],
    [
      "a card that breaks off",
      () =>
        raw(
          new ReadableStream({
            start(controller) {
              controller.enqueue(Buffer.from('{"name":'));
              controller.error(new Error("cut"));
            },
          }),
        ),
      "unavailable",
    ],
  ])("reports %s as a call that certainly did not arrive", async (_title, fault, reason) => {
    const { calls, execute } = await open({ fault });
    await expect(execute()).rejects.toMatchObject({ reason, certainty: "undelivered" });
    expect(calls).toEqual([]);
  });
});

describe("a message to an A2A agent on AgentCore", () => {
  it("reads the answer of an agent that streams although nobody asked for it", async () => {
    const { execute } = await open({
      answer: ({ id }) =>
        raw(
          `: ping\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, ...answerWith("streamed") })}\n\n`,
          {
            headers: { "content-type": "text/event-stream" },
          },
        ),
    });
    expect(await execute()).toMatchObject({ response_text: "streamed" });
  });

  const refusesVersion = (agentVersion: "1.0" | "0.3") => (call: Call) => {
    // An agent takes a call without a version for one of 0.3.
    const version = call.version ?? "0.3";
    if (version === agentVersion)
      return json({ jsonrpc: "2.0", id: call.id, ...answerWith(`by ${version}`) });
    const error = { code: -32009, message: `A2A version ${version} is not supported` };
    return json({ jsonrpc: "2.0", id: call.id, error });
  };

  it("goes on in 0.3 if the platform keeps the version from an agent of both", async () => {
    const both = {
      ...cardOf({ url: "http://127.0.0.1:9000/", version: "1.0" }),
      supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
        url: "http://127.0.0.1:9000/",
        protocolBinding: "JSONRPC",
        protocolVersion,
      })),
    };
    const { calls, execute } = await open({
      allowedHeaders: [],
      card: () => json(both),
      answer: (call) =>
        call.method === "message/send"
          ? json({
              jsonrpc: "2.0",
              id: call.id,
              result: {
                kind: "message",
                messageId: "m",
                role: "agent",
                parts: [{ kind: "text", text: "old" }],
              },
            })
          : json({ jsonrpc: "2.0", id: call.id, error: { code: -32601, message: "unknown" } }),
    });
    expect(await execute()).toMatchObject({ response_text: "old" });
    await execute();
    expect(calls.map(({ method }) => method)).toEqual([
      "SendMessage",
      "message/send",
      "message/send",
    ]);
  });

  it("fails at an agent of 1.0 from which the platform keeps the version", async () => {
    const { execute } = await open({ allowedHeaders: [], answer: refusesVersion("1.0") });
    await expect(execute()).rejects.toMatchObject({ reason: "version_not_supported" });
    const allowing = await open({ answer: refusesVersion("1.0") });
    expect(await allowing.execute()).toMatchObject({ response_text: "by 1.0" });
  });
});
