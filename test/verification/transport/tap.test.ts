import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { redact } from "@sekisho/runtime/redact.ts";
import { type TapEntry, tapTransport } from "@sekisho/verification/transport/tap.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

async function watch({ params, send }: { params: unknown; send: Transport["send"] }) {
  const entries: TapEntry[] = [];
  const id = randomUUID();
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params }));
  const transport = tapTransport({
    transport: { send },
    tap: (entry) => entries.push(entry),
    now: () => 7,
  });
  const { signal } = new AbortController();
  const trace = { traceparent: "" };
  const outcome = await transport
    .send({ body, sessionId: "s", signal, trace })
    .catch((error: SekishoError) => error);
  return { entries, id, body, outcome };
}

describe("the tap", () => {
  it("shows request and response as they went over the wire", async () => {
    const answer = Buffer.from(
      '{"jsonrpc":"2.0","id":"1","result":{"status":"success","response_text":"関所"}}',
    );
    const { entries, id, body, outcome } = await watch({
      params: { text: "hi" },
      send: async () => ({ body: answer }),
    });
    expect(entries).toEqual([
      {
        direction: "request",
        id,
        method: "execute_task",
        body: JSON.parse(body.toString()),
        atMs: 7,
      },
      {
        direction: "response",
        id,
        method: "execute_task",
        body: JSON.parse(answer.toString()),
        atMs: 7,
      },
    ]);
    expect(outcome).toEqual({ body: answer });
  });

  it("redacts what it shows, but not what is sent", async () => {
    const params = {
      text: "hi",
      bot_token: "xoxb-1-secret",
      attachments: [{ url: "https://files.example/a?sig=hidden" }],
    };
    let sentText = "";
    const { entries } = await watch({
      params,
      send: async ({ body }) => {
        sentText = Buffer.from(body).toString();
        return { body: Buffer.from('{"result":"you gave me xoxb-1-secret"}') };
      },
    });
    expect(JSON.parse(sentText).params).toEqual(params);
    expect(JSON.stringify(entries)).not.toMatch(/xoxb-1|secret|hidden/);
    expect(JSON.stringify(entries)).toContain("https://files.example/a?");
  });

  it("redacts the whole link of a question, in the zone contract and in A2A", () => {
    const url = "https://a.example/hunter2";
    const question = { status: "input_required", task_id: "t", prompt: "Sign in.", url };
    const task = { message: { metadata: { "urn:sekisho:question:v1": { url, approvals: 1 } } } };
    const stored = { prompt: "Sign in.", kind: "auth", url };
    expect(JSON.stringify(redact([{ result: question }, task, stored]))).not.toContain("a.example");
    expect(redact(question)).toEqual({ ...question, url: "[redacted]" });
    expect(redact({ "urn:sekisho:question:v1": "text" })).toEqual({
      "urn:sekisho:question:v1": "text",
    });
  });

  it("shows the size of an unreadable response and the reason of a failure", async () => {
    const unreadable = await watch({
      params: {},
      send: async () => ({ body: Buffer.from("<html>") }),
    });
    expect(unreadable.entries[1]?.body).toEqual({ unreadable_bytes: 6 });
    const cause = new Error("the text of a cause");
    const failedCall = await watch({
      params: {},
      send: () => Promise.reject(new SekishoError("ambiguous", { cause })),
    });
    expect(failedCall.entries[1]?.body).toEqual({ failed: "ambiguous" });
    expect(failedCall.outcome).toMatchObject({ reason: "ambiguous", cause });
  });
});

describe("redaction", () => {
  it.each([
    "bot_token",
    "authorization",
    "apiKey",
    "api_key",
    "client_secret",
    "Password",
    "signature",
  ])("masks %s at any depth", (name) => {
    expect(redact([{ deep: { [name]: "hidden" } }])).toEqual([{ deep: { [name]: "[redacted]" } }]);
  });

  it.each(["xoxb-12-ab-Cd", "xoxp-1", "xoxe.xoxp-1-ab", "xapp-1-A1-b"])(
    "masks the token %s in a text",
    (token) => {
      expect(redact({ text: `a ${token} b` })).toEqual({ text: "a [redacted] b" });
    },
  );

  it("leaves JSON without secrets unchanged", () => {
    const name = fc
      .string()
      .filter(
        (text) => !/token|secret|password|authorization|key|signature|^url$|__proto__/i.test(text),
      );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.string().filter((text) => !text.includes("x")),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value")),
        fc.dictionary(name, tie("value")),
      ),
    }));
    forAll(value).hold((json) => expect(redact(json)).toEqual(json));
  });
});
