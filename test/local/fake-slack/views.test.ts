/** Modals of the fake Slack: it opens and refuses them as Slack does, and takes those that the app makes. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseView, readErrorsReply } from "@sekisho/local/fake-slack/views.ts";
import {
  buildAskAboutModal,
  buildQuestionModal,
  buildShortcutRefusalModal,
} from "@sekisho/verification/slack/messages/modal.ts";
import type { AgentQuestion } from "@sekisho/verification/task/task.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { type CalledSlack, channel, startCalledSlack } from "./web-api.ts";

const startMs = 1_790_000_000_000;
let slack: CalledSlack;
let nowMs: number;
let triggerId: string;

beforeEach(async () => {
  nowMs = startMs;
  slack = await startCalledSlack({
    otherTokens: { second: "xoxb-of-the-second" },
    now: () => nowMs,
  });
  triggerId = slack.fakeSlack.command({ eventsUrl: slack.fakeSlack.apiUrl, text: "hi" }).triggerId;
});
afterEach(() => slack.fakeSlack.close());

const text = (said: string) => ({ type: "plain_text", text: said });
const input = (element: object = { type: "plain_text_input" }, more: object = {}) => ({
  type: "input",
  label: text("Name"),
  element,
  ...more,
});
const view = (more: object = {}) => ({
  type: "modal",
  title: text("Title"),
  submit: text("Send"),
  blocks: [input()],
  ...more,
});
const open = (values: unknown = view(), trigger = triggerId) =>
  slack.call("views.open", { trigger_id: trigger, view: values });

describe("views.open", () => {
  it("opens a modal once per trigger", async () => {
    expect(await open()).toMatchObject({
      ok: true,
      view: { type: "modal", state: { values: {} } },
    });
    expect(slack.fakeSlack.modals()).toMatchObject([{ user: "UPERSON", channel }]);
    expect((await open()).error).toBe("exchanged_trigger_id");
  });

  it("refuses an expired or invalid trigger", async () => {
    nowMs += 3001;
    expect((await open()).error).toBe("expired_trigger_id");
    expect((await open(view(), "1.2.3.abc")).error).toBe("invalid_trigger_id");
    expect((await open(view(), "anything")).error).toBe("invalid_trigger_id");
    expect((await slack.call("views.open", { view: view() })).error).toBe("invalid_arguments");
    const args = { trigger_id: triggerId, view: view() };
    nowMs -= 3001;
    expect((await slack.call("views.open", args, "xoxb-of-the-second")).error).toBe(
      "invalid_trigger_id",
    );
  });

  it.each<[what: string, broken: unknown, where: string]>([
    ["a title of 25 characters", view({ title: text("x".repeat(25)) }), "/view/title/text"],
    ["a submit of 25 characters", view({ submit: text("x".repeat(25)) }), "/view/submit/text"],
    ["an input without submit", view({ submit: undefined }), "/view/submit"],
    [
      "a label of 2,001 characters",
      view({ blocks: [input(undefined, { label: text("x".repeat(2001)) })] }),
      "/view/blocks/0/label/text",
    ],
    ["101 blocks", view({ blocks: Array(101).fill(input()) }), "/view/blocks"],
    [
      "private_metadata of 3,001 characters",
      view({ private_metadata: "x".repeat(3001) }),
      "/view/private_metadata",
    ],
    ["an unknown member", view({ colour: "red" }), "/view/"],
    [
      "a markdown block",
      view({ blocks: [{ type: "markdown", text: "hi" }] }),
      "/view/blocks/0/type",
    ],
    ["votes", view({ blocks: [{ type: "context_actions", elements: [] }] }), "/view/blocks/0/type"],
    [
      "two blocks of one id",
      view({ blocks: [input(undefined, { block_id: "a" }), input(undefined, { block_id: "a" })] }),
      "/view/blocks",
    ],
    [
      "an empty list of choices",
      view({ blocks: [input({ type: "static_select", options: [] })] }),
      "/view/blocks/0/element/options",
    ],
    [
      "101 choices",
      view({
        blocks: [
          input({
            type: "static_select",
            options: Array(101).fill({ text: text("a"), value: "a" }),
          }),
        ],
      }),
      "/view/blocks/0/element/options",
    ],
    [
      "a choice of 76 characters",
      view({
        blocks: [
          input({
            type: "multi_static_select",
            options: [{ text: text("x".repeat(76)), value: "a" }],
          }),
        ],
      }),
      "/view/blocks/0/element/options/0/text/text",
    ],
    [
      "a text of more than 3,000 characters",
      view({ blocks: [input({ type: "plain_text_input", max_length: 3001 })] }),
      "/view/blocks/0/element/max_length",
    ],
    [
      "a number input without is_decimal_allowed",
      view({ blocks: [input({ type: "number_input" })] }),
      "/view/blocks/0/element/is_decimal_allowed",
    ],
    [
      "a numeric limit that is not a string",
      view({ blocks: [input({ type: "number_input", is_decimal_allowed: true, min_value: 1 })] }),
      "/view/blocks/0/element/min_value",
    ],
    [
      "a numeric limit with an exponent",
      view({
        blocks: [input({ type: "number_input", is_decimal_allowed: true, max_value: "1e3" })],
      }),
      "/view/blocks/0/element/max_value",
    ],
    ["a view that is not an object", "hello", "/view"],
  ])("refuses %s", async (_what, broken, where) => {
    const answer = await open(broken);
    expect(answer).toMatchObject({ ok: false, error: "invalid_arguments" });
    expect(JSON.stringify(answer.response_metadata)).toContain(`[json-pointer:${where}`);
    expect(slack.fakeSlack.modals()).toEqual([]);
  });
});

it("refuses a view of more than 250 KB", async () => {
  const options = Array.from({ length: 100 }, () => ({
    text: text("x".repeat(75)),
    value: "y".repeat(150),
  }));
  const blocks = Array.from({ length: 10 }, () => input({ type: "static_select", options }));
  expect((await open(view({ blocks }))).error).toBe("view_too_large");
});

describe("an answer to a submitted modal", () => {
  const opened = parseView(
    view({ blocks: [input(undefined, { block_id: "a" }), { type: "divider", block_id: "b" }] }),
  );
  const readValue = (reply: unknown) => {
    if ("problem" in opened) throw new Error(opened.problem);
    return readErrorsReply(opened.view, reply);
  };

  it("closes the modal on an empty response, and returns the errors of its inputs", () => {
    expect(readValue(undefined)).toBeUndefined();
    expect(readValue({ response_action: "errors", errors: { a: "Too long" } })).toEqual({
      a: "Too long",
    });
  });

  it.each([
    [
      "names a block that is not an input",
      { response_action: "errors", errors: { b: "Too long" } },
    ],
    ["names an unknown block", { response_action: "errors", errors: { a: "Too long", c: "No" } }],
    ["names no block", { response_action: "errors", errors: {} }],
    ["has no text for an input", { response_action: "errors", errors: { a: "" } }],
    ["has another action", { response_action: "error", errors: { a: "No" } }],
    ["is not an object", "ok"],
  ])("refuses a response that %s", (_what, reply) => {
    expect(() => readValue(reply)).toThrow();
  });
});

describe("the modals of the app", () => {
  const long = "長い名前".repeat(60);
  const options = Array.from({ length: 100 }, (_, index) => ({
    id: `${index}`,
    label: index === 0 ? "\u200b" : long.slice(0, 200),
  }));
  const question: AgentQuestion = {
    index: 0,
    prompt: "x".repeat(9000),
    options: [],
    askedAtMs: 0,
    expiresAtMs: 1,
    fields: [
      { id: "a", label: long.slice(0, 200), type: "choice", required: true, options },
      { id: "b", label: "\u202e", type: "choices", options },
      { id: "c", label: "c", type: "text" },
      { id: "d", label: "d", type: "text", multiline: true, max_length: 1 },
      { id: "e", label: "e", type: "number" },
      { id: "f", label: "f", type: "number", min: -1e-7, max: 1e21 },
      { id: "g", label: "g", type: "date" },
    ],
  };
  const shortcut = {
    channel: "C1",
    ts: "1.2",
    threadTs: "1.1",
    actionTs: "1.3",
    external: "people" as const,
  };

  it.each(
    (["en", "ja"] as const).flatMap((locale) => [
      [
        "for a question",
        buildQuestionModal({ task: sampleTask(), question, prompt: question.prompt, locale }),
      ] as const,
      ["for the shortcut", buildAskAboutModal({ ...shortcut, locale })] as const,
      [
        "for a channel without the bot",
        buildShortcutRefusalModal({ refusal: "not_in_channel", locale }),
      ] as const,
    ]),
  )("accepts the app's own modal %s", (_which, made) => {
    expect(parseView(JSON.parse(JSON.stringify(made)))).toHaveProperty("view");
  });
});
