/** What an agent gets of a message. */
import { describe, expect, it } from "@jest/globals";
import { questionKey, slackMessageKey } from "@sekisho/contracts/a2a/extension.ts";
import type { Message, Part } from "@sekisho/contracts/a2a/part.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  checkOutputModes,
  fingerprintMessage,
  readAnswerMessage,
  readTaskInput,
} from "@sekisho/execution/a2a/read-message.ts";

function message(parts: Part[], more: Partial<Message> = {}): Message {
  return { messageId: "m", role: "ROLE_USER", parts, ...more };
}

const input = (parts: Part[], metadata?: Message["metadata"], contextId = "c") =>
  readTaskInput({ message: message(parts, { metadata }), contextId });

describe("a task's input", () => {
  it("reads a message with one text part as that text", () => {
    expect(input([{ text: "hello" }])).toEqual({ text: "hello" });
  });

  it("joins the text parts of a message with line breaks and keeps all parts", () => {
    const parts = [{ text: "one" }, { data: { a: 1 } }, { text: "two" }, { raw: "AAEC" }];
    expect(input(parts)).toEqual({ text: "one\ntwo", parts });
  });

  it("turns https file parts into attachments like those of a Slack message", () => {
    const parts = [
      { url: "https://files.example/a", filename: "a.png", mediaType: "image/png" },
      { url: "https://files.example/b" },
      { url: "http://files.example/not-safe" },
      { url: "no address" },
      { text: "look" },
    ];
    expect(input(parts)).toEqual({
      text: "look",
      parts,
      attachments: [
        {
          id: "part-1",
          name: "a.png",
          mimetype: "image/png",
          size: 0,
          url: "https://files.example/a",
        },
        {
          id: "part-2",
          name: "",
          mimetype: "application/octet-stream",
          size: 0,
          url: "https://files.example/b",
        },
      ],
    });
  });

  it("takes from the Slack metadata only the fields of the contract, and neither token nor text", () => {
    const history = [{ role: "user", text: "before", name: "Robin", bot: true }];
    const context = {
      channel_name: "ops",
      channel_kind: "public",
      open: [{ type: "canvas", id: "F1" }],
    };
    const notes = {
      channel: "C1",
      thread_ts: "1762750300.000100",
      team_id: "T1",
      user_id: "U1",
      history,
      context,
    };
    const metadata = {
      [slackMessageKey]: { ...notes, correlation_id: "c-1", bot_token: "xoxb-1", text: "other" },
    };
    expect(input([{ text: "hi" }], metadata)).toEqual({
      text: "hi",
      correlation_id: "c-1",
      ...notes,
    });
  });

  it.each([
    [
      "of a wrong type",
      { channel: 7, thread_ts: "now", user_id: "", history: [{ role: "system", text: "" }] },
    ],
    ["with a wrong context", { context: { channel_kind: "secret", channel_name: "ops" } }],
    ["not an object", "channel"],
    ["null", null],
  ])("leaves out Slack metadata that is %s", (_name, notes) => {
    expect(input([{ text: "hi" }], { [slackMessageKey]: notes })).toEqual({ text: "hi" });
  });

  it.each([
    ["s-6f1d4a3e7b525c1f9a552a6d3c0f7e11aabbcc", true],
    ["too short for a session", false],
  ])("decides whether to use the context id %s as the session id: %s", (contextId, isSession) => {
    expect(input([{ text: "hi" }], undefined, contextId).session_id).toBe(
      isSession ? contextId : undefined,
    );
  });

  it("accepts as many characters as a task of the zone contract, regardless of their size in bytes", () => {
    const text = "🦊".repeat(40_000);
    expect(input([{ text }])).toEqual({ text });
    expect(() => input([{ text: `${text}a` }])).toThrow(
      expect.objectContaining({ reason: "invalid_params" }),
    );
  });

  it("refuses more text than a task may have and names the field", () => {
    const parts = [{ text: "x".repeat(20_000) }, { text: "x".repeat(20_000) }];
    const issues = [expect.objectContaining({ path: "message.parts" })];
    expect(() => input(parts)).toThrow(
      expect.objectContaining({ reason: "invalid_params", details: { issues } }),
    );
  });
});

describe("an answer", () => {
  const question = { prompt: "?", messageId: "q", options: [{ id: "a", label: "The first" }] };
  it.each<[string, Part[], Message["metadata"], object]>([
    ["as text", [{ text: "neither" }], undefined, { text: "neither" }],
    [
      "by an option's label",
      [{ text: " The first\n" }],
      undefined,
      { text: " The first\n", option_id: "a" },
    ],
    ["by an option's id", [{ text: "a" }], undefined, { text: "a", option_id: "a" }],
    [
      "by an option and a user in the metadata",
      [{ text: "x" }],
      { [questionKey]: { option_id: "b" }, [slackMessageKey]: { user_id: "U1" } },
      { text: "x", option_id: "b", user_id: "U1" },
    ],
    [
      "as text beside unknown metadata",
      [{ text: "x" }],
      { [questionKey]: { option_id: 7 } },
      { text: "x" },
    ],
    ["as data", [{ data: 7 }], undefined, { text: "", parts: [{ data: 7 }] }],
  ])("reads a reply given %s", (_name, parts, metadata, answerFields) => {
    const answer = readAnswerMessage({ message: message(parts, { metadata }), question });
    expect(answer).toEqual({ id: "m", fingerprint: expect.any(String), ...answerFields });
  });
});

describe("the fingerprint of a message", () => {
  const first = message([{ text: "hello" }]);
  it("recognizes a repeated message by role, parts, context and task, not by its metadata", () => {
    expect(fingerprintMessage({ ...first, metadata: { signed: 1 } })).toBe(
      fingerprintMessage(first),
    );
    const others = [
      { parts: [{ text: "hi" }] },
      { contextId: "c" },
      { taskId: "t" },
      { role: "ROLE_AGENT" as const },
    ];
    const prints = [first, ...others.map((other) => ({ ...first, ...other }))].map(
      fingerprintMessage,
    );
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe("output modes", () => {
  it.each([
    [undefined],
    [["text/plain"]],
    [["image/png", "Application/JSON; charset=utf-8"]],
    [["text"]],
    [["text/*"]],
    [["*/*"]],
    [["application/octet-stream"]],
  ])("accepts the output modes %j", (outputModes) => {
    expect(() => checkOutputModes(outputModes)).not.toThrow();
  });

  it.each([[["image/png"]], [["text/html", "audio/*"]], [["textual"]]])(
    "refuses the output modes %j",
    (outputModes) => {
      expect(() => checkOutputModes(outputModes)).toThrow(
        new SekishoError("content_type_not_supported"),
      );
    },
  );
});
