/** Our transport and an agent of the official SDK that answers by a message only, as JSON and as the SDK's own stream. */
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { closeAfterTest, serve } from "../doubles/serving.ts";
import { clientTo, hello } from "../verification/transport/a2a/sample.ts";
import { startSdkServer } from "./sdk-server.ts";

const agent: Agent = async function* () {
  yield { type: "answer", text: "Good morning.", direct: true };
};

const streaming: Record<string, string> = {
  SendMessage: "SendStreamingMessage",
  "message/send": "message/stream",
};

/** Makes every message to the agent a call for a stream, so that it answers with one. Resolves to the URL of its card. */
async function startStreamingFront(cardUrl: string) {
  const { origin } = new URL(cardUrl);
  const types: (string | null)[] = [];
  const { url } = await serve(async ({ request, target, body }) => {
    const { method, headers } = request;
    if (method === "GET") {
      const card = await (await fetch(origin + target, { headers })).text();
      return new Response(card.replaceAll(origin, new URL(request.url).origin), {
        headers: { "content-type": "application/json" },
      });
    }
    const call = JSON.parse(Buffer.from(body).toString());
    const forwarded = JSON.stringify({ ...call, method: streaming[call.method] ?? call.method });
    const passed = new Headers(headers);
    for (const name of ["content-length", "host", "connection"]) passed.delete(name);
    passed.set("accept", "text/event-stream, application/json");
    const response = await fetch(origin + target, {
      method: "POST",
      headers: passed,
      body: forwarded,
    });
    types.push(response.headers.get("content-type"));
    return new Response(response.body, { headers: { "content-type": types.at(-1) ?? "" } });
  });
  return { cardUrl: url + new URL(cardUrl).pathname, types };
}

describe.each(["1.0", "0.3"] as const)(
  "an agent of the official SDK without tasks, in %s",
  (version) => {
    it("understands a message of an agent without tasks", async () => {
      const { cardUrl } = closeAfterTest(await startSdkServer({ agent, versions: [version] }));
      const { call } = clientTo(cardUrl, { version });
      expect(await call("execute_task", hello)).toEqual({
        status: "success",
        response_text: "Good morning.",
      });
    });

    it("understands a streamed message of an agent without tasks", async () => {
      const sdk = closeAfterTest(await startSdkServer({ agent, versions: [version] }));
      const { cardUrl, types } = await startStreamingFront(sdk.cardUrl);
      const { call } = clientTo(cardUrl, { version });
      expect(await call("execute_task", hello)).toEqual({
        status: "success",
        response_text: "Good morning.",
      });
      expect(types).toEqual([expect.stringContaining("text/event-stream")]);
    });
  },
);
