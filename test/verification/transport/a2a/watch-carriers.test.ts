/** Polls that wait, over every carrier: what a person sees, and that no stream stays open after its poll. */
import { describe, expect, it } from "@jest/globals";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { createA2aTransport } from "@sekisho/verification/transport/a2a/transport.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import type { A2aCarrier, BindingName } from "@sekisho/verification/transport/carrier.ts";
import { createInProcessTransport } from "@sekisho/verification/transport/in-process/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import { startAgentCoreStub } from "../../../doubles/agentcore-stub.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { closeAfterTest } from "../../../doubles/serving.ts";
import { startWebServer } from "../../../doubles/web-server.ts";
import { common } from "../../../tables/transport-sample.ts";
import { credentials, runtimeArn } from "../agentcore/sample.ts";

type Handle = (request: Request) => Promise<Response>;

const carriers: Readonly<Record<string, (handle: Handle) => Promise<A2aCarrier>>> = {
  async https(handle) {
    const server = await startWebServer({ handle: ({ request }) => handle(request) });
    closeAfterTest(server);
    const cardUrl = `${server.url}${agentCardPath}`;
    return createHttpsCarrier({ cardUrl, authorizer: noAuthorizer });
  },
  async agentcore(handle) {
    const allowedHeaders = ["A2A-Version"];
    const stub = await startAgentCoreStub({
      ...{ protocol: "A2A", allowedHeaders, runtimeArn, credentials, handle },
    });
    closeAfterTest(stub);
    const { endpoint } = stub;
    return createAgentCoreTransport({ runtimeArn, endpoint, credentials: async () => credentials });
  },
  "in-process": async (handle) => createInProcessTransport({ handle }),
};

const taskWith = (text: string) => ({
  ...{ id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } },
  artifacts: [{ artifactId: "a0", parts: [{ text }] }],
});
const appended = (text: string) => ({
  artifactUpdate: {
    ...{ taskId: "t1", contextId: "c1", append: true },
    artifact: { artifactId: "a0", parts: [{ text }] },
  },
});
const partial = (text: string) => ({
  ...{ status: "accepted", task_id: "t1" },
  progress: { partial_text: text },
});

/** The call of JSON-RPC, or the operation at a path. */
async function readCall(request: Request): Promise<{ id: string; method: string }> {
  if (request.method === "POST") return JSON.parse(await request.text());
  const isStream = /^\/(?:v1\/)?tasks\/t1:subscribe$/.test(new URL(request.url).pathname);
  return { id: "", method: isStream ? "SubscribeToTask" : "GetTask" };
}

type Offer = { version: "1.0" | "0.3"; binding: BindingName };
const rpc: Offer = { version: "1.0", binding: "JSONRPC" };
const offers: readonly [carrier: string, over: string, offer: Offer][] = [
  ["https", "JSON-RPC", rpc],
  ["https", "HTTP+JSON of 1.0", { version: "1.0", binding: "HTTP+JSON" }],
  ["https", "HTTP+JSON of 0.3", { version: "0.3", binding: "HTTP+JSON" }],
  ["agentcore", "JSON-RPC", rpc],
  ["in-process", "JSON-RPC", rpc],
];

/** An agent whose stream sends the chunks, and then stays open or ends. HTTP+JSON has bare results. */
async function open(options: {
  carrier: string;
  offer: Offer;
  chunks: (toFrame: (result: object) => string) => readonly string[];
  ends?: boolean;
}) {
  const { carrier, offer, chunks, ends = false } = options;
  const isRest = offer.binding === "HTTP+JSON";
  const methods: string[] = [];
  const closed = Promise.withResolvers<string>();
  const handle: Handle = async (request) => {
    if (request.url.endsWith(agentCardPath)) {
      const card = cardOf({ url: new URL("/", request.url).href, ...offer });
      return json({ ...card, capabilities: { streaming: true } });
    }
    const { id, method } = await readCall(request);
    methods.push(method);
    // The connection of a carrier, or the stream itself in the same process.
    if (method === "SubscribeToTask")
      request.signal.addEventListener("abort", () => closed.resolve("closed"));
    const toBody = (result: object) => (isRest ? result : { jsonrpc: "2.0", id, result });
    if (method === "GetTask") return json(toBody(taskWith("polled")));
    const frames = chunks((result) => `data: ${JSON.stringify(toBody(result))}\n\n`);
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const frame of frames) controller.enqueue(Buffer.from(frame));
        if (ends) controller.close();
      },
      cancel: () => closed.resolve("closed"),
    });
    return raw(stream, { headers: { "content-type": "text/event-stream" } });
  };
  const transport = closeAfterTest(
    createA2aTransport({ carrier: (await carriers[carrier]?.(handle)) as A2aCarrier }),
  );
  const client = createClient({
    transport,
    destination: { name: "agent", dialect: "a2a", idempotent: false, callTimeoutMs: 25_000 },
    log: silentLog,
    sleep: () => Promise.reject(new Error("no repetition here")),
  });
  const poll = (waitMs: number, signal?: AbortSignal) =>
    client.call({
      ...{ method: "get_task", params: { task_id: "t1", wait_ms: waitMs } },
      ...{ id: common.requestId, signal, ...common },
    });
  return { methods, closed: closed.promise, poll };
}

describe.each(offers)("a poll that waits over %s and %s", (carrier, _over, offer) => {
  it("returns the first news of the stream, and closes it", async () => {
    const agent = await open({
      ...{ carrier, offer },
      chunks: (toFrame) => [
        ": ping\n\n",
        toFrame({ task: taskWith("Hel") }),
        toFrame(appended("lo")),
      ],
    });
    expect(await agent.poll(20_000)).toEqual(partial("Hello"));
    expect(await agent.closed).toBe("closed");
    expect(agent.methods).toEqual(["SubscribeToTask"]);
  });

  it("returns what the stream has shown after a wait without news, and closes it", async () => {
    const agent = await open({
      ...{ carrier, offer },
      chunks: (toFrame) => [
        toFrame({ task: taskWith("Hel") }),
        toFrame(appended("lo")).slice(0, -9),
      ],
    });
    expect(await agent.poll(400)).toEqual(partial("Hel"));
    expect(await agent.closed).toBe("closed");
    expect(agent.methods).toEqual(["SubscribeToTask"]);
  });

  it("asks for the task itself after a stream without news", async () => {
    const agent = await open({
      ...{ carrier, offer },
      chunks: (toFrame) => [toFrame({ task: taskWith("Hel") })],
      ends: true,
    });
    expect(await agent.poll(20_000)).toEqual(partial("polled"));
    expect(agent.methods).toEqual(["SubscribeToTask", "GetTask"]);
  });

  it("asks for the task itself after an error in the stream, and skips what is no event", async () => {
    const error = { code: -32603, message: "no" };
    const agent = await open({
      ...{ carrier, offer },
      chunks: (toFrame) => [
        ...["data: null\n\n", "data: [1]\n\n", "data: {\n\n", "event: ping\ndata: \n\n"],
        toFrame({ task: taskWith("Hel") }),
        `data: ${JSON.stringify({ jsonrpc: "2.0", id: null, error })}\n\n`,
        toFrame(appended("lo")),
      ],
    });
    expect(await agent.poll(20_000)).toEqual(partial("polled"));
    expect(await agent.closed).toBe("closed");
    expect(agent.methods).toEqual(["SubscribeToTask", "GetTask"]);
  });

  it("closes the stream when its call ends, without another call", async () => {
    const ending = new AbortController();
    const agent = await open({
      ...{ carrier, offer },
      chunks: (toFrame) => {
        setTimeout(() => ending.abort(), 50);
        return [toFrame({ task: taskWith("Hel") })];
      },
    });
    await expect(agent.poll(20_000, ending.signal)).rejects.toMatchObject({
      reason: "unavailable",
    });
    expect(await agent.closed).toBe("closed");
    expect(agent.methods).toEqual(["SubscribeToTask"]);
  });
});
