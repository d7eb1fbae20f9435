/** A message that may have arrived at one interface of an agent, whose card names another one by now. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../../contracts/errors.ts";
import { createSentMessages } from "../../../../lambdas/verification/transport/a2a/messages.ts";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import { json } from "../../../doubles/answers.ts";
import { agentOf, clientTo, hello, said } from "./sample.ts";

const versionRefused = { error: { code: -32009, message: "VersionNotSupportedError" } };

/** An agent that moves from one path to another as soon as it was called. */
async function movingAgent(atOld: (method: string) => object | Response) {
  let path = "/old";
  return agentOf({
    card: (_, base) => json(cardOf({ url: `${base}${path}`, version: "1.0" })),
    answer: (call) => {
      path = "/new";
      return call.path === "/old" ? atOld(call.method) : said("done");
    },
  });
}

describe("a message that may have arrived", () => {
  it("is not said again elsewhere, and others are", async () => {
    const agent = await movingAgent((method) =>
      method === "SendMessage" ? json({}, { status: 502 }) : versionRefused,
    );
    const { call } = clientTo(agent.cardUrl);
    const id = randomUUID();
    await expect(call("execute_task", hello, { id })).rejects.toMatchObject({ reason: "ambiguous" });
    await expect(call("get_task", { request_id: id })).rejects.toMatchObject({ reason: "unsupported_operation" });
    await expect(call("execute_task", hello, { id })).rejects.toMatchObject({
      reason: "ambiguous",
      undelivered: false,
    });
    expect(await call("execute_task", hello)).toMatchObject({ response_text: "done" });
    expect(agent.calls.map(({ path, method }) => `${method} ${path}`)).toEqual([
      "SendMessage /old",
      "ListTasks /old",
      "ListTasks /new",
      "SendMessage /new",
    ]);
  });

  it("is not said again elsewhere although the first place now refuses its version", async () => {
    const answers = [json({}, { status: 502 }), versionRefused];
    const agent = await movingAgent(() => answers.shift() ?? {});
    const { call } = clientTo(agent.cardUrl);
    const id = randomUUID();
    for (const _ of [1, 2]) {
      await expect(call("execute_task", hello, { id })).rejects.toMatchObject({ reason: "ambiguous" });
    }
    expect(agent.calls.map(({ path }) => path)).toEqual(["/old", "/old"]);
  });
});

describe("places of messages", () => {
  const say = (
    messages: ReturnType<typeof createSentMessages>,
    interfaceKey: string,
    messageId = "m1",
    fails?: SekishoError,
  ) =>
    messages.send({
      ...{ messageId, interfaceKey, isUntouched: (answer) => answer === "untouched" },
      post: async () => (fails ? Promise.reject(fails) : interfaceKey),
    });

  it("are forgotten where nothing was sent or processed", async () => {
    const messages = createSentMessages();
    const nothingSent = new SekishoError("unavailable", { undelivered: true });
    await expect(say(messages, "a", "m1", nothingSent)).rejects.toBe(nothingSent);
    expect([await say(messages, "untouched"), await say(messages, "b")]).toEqual(["untouched", "b"]);
    await expect(say(messages, "a")).rejects.toMatchObject({ reason: "ambiguous" });
  });

  it("stay in doubt, whatever a later try comes to", async () => {
    const messages = createSentMessages();
    await expect(say(messages, "a", "m1", new SekishoError("ambiguous"))).rejects.toMatchObject({});
    await expect(
      say(messages, "a", "m1", new SekishoError("unavailable", { undelivered: true })),
    ).rejects.toBeDefined();
    await expect(say(messages, "b")).rejects.toMatchObject({ reason: "ambiguous" });
  });

  it("are kept of the last thousand messages", async () => {
    const messages = createSentMessages();
    for (let count = 0; count <= 1000; count += 1) await say(messages, "a", `m${count}`);
    expect(await say(messages, "b", "m0")).toBe("b");
    await expect(say(messages, "b", "m1000")).rejects.toMatchObject({ reason: "ambiguous" });
  });
});
