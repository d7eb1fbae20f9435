import { describe, expect, it } from "@jest/globals";
import type { QuestionField } from "@sekisho/contracts/question-fields.ts";
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { hasVisibleText } from "@sekisho/verification/slack/markdown/visible-text.ts";
import { decodeButton, encodeButton } from "@sekisho/verification/slack/messages/buttons.ts";
import type { ButtonClickRefusal } from "@sekisho/verification/slack/messages/question.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { AgentQuestion, Task } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { askedAtMs, sampleTask } from "../../task/sample.ts";

const question: AgentQuestion = {
  index: 2,
  prompt: "Deploy **now**? <!channel>",
  options: [
    { id: "yes", label: "Yes", style: "primary" },
    { id: "no", label: "No *way*", style: "purple" },
  ],
  askedAtMs,
  expiresAtMs: askedAtMs + 600_000,
};

function show(
  changes: Partial<AgentQuestion> = {},
  task: Partial<Task> = {},
  nowMs = askedAtMs,
  locale: "en" | "ja" = "en",
) {
  const asking = sampleTask({ state: "asking", question: { ...question, ...changes }, ...task });
  return createTaskText({ locale }).question({ task: asking, nowMs });
}

type Shown = { text: { text: string }; style?: string; action_id: string; value: string };

const buttonsOf = ({ blocks = [] }: ReturnType<typeof show>) =>
  blocks.flatMap((block) => (block.type === "actions" ? (block.elements as Shown[]) : []));

const optionsOf = (count: number, label: string) =>
  Array.from({ length: count }, (_, index) => ({ id: `${index}`, label: `${index} ${label}` }));

describe("a question", () => {
  it("shows the agent's question, its choices, how else to answer, and the time limit", () => {
    const content = show();
    expect(content.text).toMatch(
      /^Deploy \*now\*\? &lt;!channel&gt;\n\nPress a button, or reply .*\nAnswer by <!date\^1760000600\^/,
    );
    expect(content.blocks?.map(({ type }) => type)).toEqual(["markdown", "actions", "context"]);
    expect(content.blocks?.[0]?.text).toBe("Deploy **now**? <\u2060!channel>");
  });

  it("encodes the question and the choice in each button and keeps only styles that Slack knows", () => {
    const buttons = buttonsOf(show());
    expect(buttons.map(({ text }) => text.text)).toEqual(["Yes", "No *way*"]);
    expect(buttons.map(({ style }) => style)).toEqual(["primary", undefined]);
    expect(buttons.map((button) => decodeButton(button)?.button)).toEqual([
      { type: "answer", question: 2, option: 0 },
      { type: "answer", question: 2, option: 1 },
    ]);
  });

  it("shows at most 25 buttons of 75 characters and lists the other choices as text", () => {
    const content = show({ options: optionsOf(30, "x".repeat(100)) });
    expect(buttonsOf(content)).toHaveLength(25);
    for (const { text } of buttonsOf(content)) expect(text.text.length).toBeLessThanOrEqual(75);
    expect(content.text).toMatch(/More choices:\n• 25 x/);
  });

  it("replaces invisible button labels and an invisible prompt with readable text", () => {
    const labels = [" ", "\u200b", "\u3164\u2060 ", "\u00ad"];
    const content = show({
      prompt: " ",
      options: labels.map((label, at) => ({ id: at === 0 ? "yes" : "\u200b", label })),
    });
    expect(buttonsOf(content).map(({ text }) => text.text)).toEqual(["yes", "2", "3", "4"]);
    expect(hasVisibleText(parseMarkdown(String(content.blocks?.[0]?.text)))).toBe(true);
  });

  it("shows the time limit even if the choices do not fit", () => {
    const options = optionsOf(100, "x".repeat(70));
    const context = show({ options }).blocks?.at(-1) as unknown as { elements: { text: string }[] };
    expect(context.elements[0]?.text).toMatch(/^Answer by <!date\^/);
    expect(show({ options }, { mrkdwnFallback: true }).text).toMatch(/\nAnswer by <!date\^/);
  });

  it("exposes the target of a link in code whose end is cut off", () => {
    const content = show({
      prompt: `\`\`[https://bank.example](https://evil.example) ${"word ".repeat(2000)}\`\``,
    });
    expect(content.blocks?.[0]?.text).toMatch(
      /https:\/\/bank\.example \(https:\/\/evil\.example\)/,
    );
  });

  it("shows no buttons without choices, and for credentials only a warning instead of asking for a reply", () => {
    expect(buttonsOf(show({ options: [] }))).toEqual([]);
    for (const locale of ["en", "ja"] as const) {
      const content = show({ kind: "auth" }, {}, askedAtMs, locale);
      expect(buttonsOf(content)).toEqual([]);
      expect(content.text).not.toMatch(/reply|返信/);
      expect(content.text).toMatch(
        /Never post passwords|パスワードやトークンは、ここには絶対に書かない/,
      );
    }
  });

  it("falls back to plain text with its choices when Slack refuses blocks", () => {
    const content = show({}, { mrkdwnFallback: true });
    expect(content.blocks).toBeUndefined();
    expect(content.text).toMatch(
      /\nAnswer by .*\nReply in this thread to answer\.\n• Yes\n• No ∗way∗$/,
    );
  });

  it("cuts an overlong question to the limits of Slack", () => {
    const content = show({ prompt: "word ".repeat(10_000) });
    expect(content.text.length).toBeLessThanOrEqual(3900);
    const options = optionsOf(80, "&".repeat(75));
    for (const plain of [{}, { mrkdwnFallback: true as const }])
      expect(
        show({ prompt: "word ".repeat(10_000), options }, plain).text.length,
      ).toBeLessThanOrEqual(3900);
    expect(String(content.blocks?.[0]?.text).length).toBeLessThanOrEqual(8000);
  });
});

describe("a question that is over", () => {
  const answer = { user: "U2", atMs: askedAtMs + 60_000, callId: "x" };

  it("shows the choice, the person and the time of an answered question, and removes its buttons", () => {
    const content = show({ answer: { ...answer, option: 0 } });
    expect(content.text).toMatch(
      /\n✔ \*Yes\* — <@U2>, <!date\^1760000060\^\{date_short_pretty\} at \{time\}\|2025-10-09 08:54 UTC>$/,
    );
    expect(content.blocks?.map(({ type }) => type)).toEqual(["markdown", "section"]);
  });

  it("quotes a written answer in a form that notifies nobody", () => {
    expect(show({ answer: { ...answer, text: "Yes, but <!channel> later" } }).text).toMatch(
      /✔ Answered in the thread — <@U2>, .*\n> Yes, but &lt;!channel&gt; later$/,
    );
  });

  it("keeps an answered question within the limit of an edit, however long question and answer are", () => {
    const long = show({
      prompt: "Shall I? ".repeat(1000),
      answer: { ...answer, text: "&".repeat(1000) },
    });
    expect(long.text.length).toBeLessThanOrEqual(4000);
  });

  it("removes the buttons of a question that is over and says whether it expired or its task ended", () => {
    const open = show({}, {}, question.expiresAtMs - 1);
    const tooLate = [show({}, {}, question.expiresAtMs), show({}, { cancelReason: "unanswered" })];
    const over = [
      show({}, { cancelReason: "asked" }),
      show({}, { outcome: { type: "failed", reason: "canceled", lost: false } }),
    ];
    expect(show({}, { outcome: { type: "unanswered" } })).toEqual(tooLate[0]);
    expect(new Set([open, ...tooLate, ...over].map(({ text }) => text)).size).toBe(3);
    for (const answerLine of [...tooLate, ...over]) expect(buttonsOf(answerLine)).toEqual([]);
  });

  it("keeps showing the answer after the task has been canceled or its time is over", () => {
    expect(
      show(
        { answer: { ...answer, option: 0 } },
        { cancelReason: "deadline" },
        Number.MAX_SAFE_INTEGER,
      ).text,
    ).toMatch(/✔ \*Yes\*/);
  });
});

it("explains to a person why a click was refused", () => {
  const refusals: ButtonClickRefusal[] = [
    { type: "not_yours" },
    { type: "answered", by: "U2", atMs: askedAtMs },
    { type: "expired" },
    { type: "over" },
  ];
  const { buttonClickRefused } = createTaskText({ locale: "en" });
  const refusalTexts = refusals.map((refusal) =>
    buttonClickRefused({ refusal, locale: undefined }),
  );
  expect(new Set(refusalTexts).size).toBe(4);
  expect(refusalTexts[1]).toMatch(/^<@U2> has already answered this \(<!date\^1760000000\^/);
  for (const refusal of refusals)
    expect(buttonClickRefused({ refusal, locale: "ja" })).toMatch(/[ぁ-ん]/);
});

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const value = (fields: unknown) => JSON.stringify(fields);

describe("a button", () => {
  it("decodes a button to what was encoded", () => {
    forAll(fc.uuid(), fc.nat(), fc.nat({ max: 24 })).hold((id, question, option) => {
      const cancel = { requestId: id, button: { type: "cancel" } } as const;
      const answer = { requestId: id, button: { type: "answer", question, option } } as const;
      expect(decodeButton(encodeButton(cancel))).toEqual(cancel);
      expect(decodeButton(encodeButton(answer))).toEqual(answer);
    });
  });

  it("gives every choice its own action id, as Slack requires within one message", () => {
    const actionOf = (option: number) =>
      encodeButton({ requestId, button: { type: "answer", question: 0, option } });
    expect(new Set([0, 1, 2].map((option) => actionOf(option).action_id)).size).toBe(3);
  });

  it.each([
    ["of another app", "approve", value({ r: requestId })],
    ["without JSON", "sekisho_cancel", requestId],
    ["with null", "sekisho_cancel", "null"],
    ["with a list as its value", "sekisho_cancel", value([requestId])],
    ["without a request", "sekisho_cancel", value({})],
    ["with an id that is not a UUID", "sekisho_cancel", value({ r: "0d1c2b3a" })],
    ["with more fields", "sekisho_cancel", value({ r: requestId, x: 1 })],
    ["with a choice on a cancel button", "sekisho_cancel", value({ r: requestId, q: 0, o: 0 })],
    ["without a choice", "sekisho_answer_0", value({ r: requestId })],
    ["with the choice of another button", "sekisho_answer_0", value({ r: requestId, q: 0, o: 1 })],
    ["with a negative question", "sekisho_answer_1", value({ r: requestId, q: -1, o: 1 })],
    ["with a fractional choice", "sekisho_answer_1.5", value({ r: requestId, q: 0, o: 1.5 })],
    ["with a choice in letters", "sekisho_answer_1", value({ r: requestId, q: 0, o: "1" })],
    ["with capitals", "sekisho_cancel", value({ r: requestId.toUpperCase() })],
    ["written in another way", "sekisho_cancel", `{ "r": "${requestId}" }`],
    ["with an oversized value", "sekisho_cancel", value({ r: requestId }) + " ".repeat(300)],
  ])("ignores a button %s", (_, action_id, forgedValue) => {
    expect(decodeButton({ action_id, value: forgedValue })).toBeUndefined();
  });
});

describe("a question with fields", () => {
  const fields: NonNullable<AgentQuestion["fields"]> = [
    {
      id: "region",
      label: "Region",
      type: "choice",
      required: true,
      options: [
        { id: "eu", label: "Europe <@U9>" },
        { id: "ap", label: "Asia" },
      ],
    },
    {
      id: "tags",
      label: "Tags",
      type: "choices",
      options: [
        { id: "a", label: "A" },
        { id: "b", label: "B" },
      ],
    },
    { id: "why", label: "Why?", type: "text" },
    { id: "copies", label: "Copies", type: "number" },
  ];
  const asks = { options: [], fields };
  const showAnswer = (fields: NonNullable<AgentQuestion["answer"]>["fields"]) =>
    show({ ...asks, answer: { user: "U2", atMs: askedAtMs, callId: "c", fields } });

  it.each([
    ["en", "Answer", /Press Answer to fill in the form, or reply in this thread\./],
    ["ja", "回答する", /「回答する」を押して入力するか、このスレッドで返信してください。/],
  ] as const)(
    "shows one button that opens the form, and explains it, in %s",
    (locale, label, hint) => {
      const content = show(asks, {}, askedAtMs, locale);
      expect(buttonsOf(content).map(({ text }) => text.text)).toEqual([label]);
      expect(buttonsOf(content).map((button) => decodeButton(button)?.button)).toEqual([
        { type: "open_form", question: 2 },
      ]);
      expect(content.text).toMatch(hint);
    },
  );

  it("asks for a reply in the thread when Slack refuses blocks, because the button needs blocks", () => {
    const content = show(asks, { mrkdwnFallback: true });
    expect(content).not.toHaveProperty("blocks");
    expect(content.text).toContain("Reply in this thread to answer.");
    expect(content.text).not.toContain("Press Answer");
  });

  it("lists the submitted values by their labels and notifies nobody", () => {
    const { text, blocks } = showAnswer({
      region: "eu",
      tags: ["b", "a"],
      why: "<!channel> now",
      copies: 0,
    });
    expect(text).toMatch(/✔ Answered — <@U2>, /);
    const lines = [
      "> Region: Europe &lt;@U9&gt;",
      "> Tags: A, B",
      "> Why?: &lt;!channel&gt; now",
      "> Copies: 0",
    ];
    expect(text.split("\n").slice(-4)).toEqual(lines);
    expect(blocks?.map(({ type }) => type)).toEqual(["markdown", "section"]);
  });

  it("uses Japanese punctuation for Japanese readers", () => {
    const fields = { region: "ap", tags: ["b", "a"] };
    const answer = { user: "U2", atMs: askedAtMs, callId: "c", fields };
    const { text } = show({ ...asks, answer }, {}, askedAtMs, "ja");
    expect(text).toMatch(/✔ 回答済み — <@U2> さん（<!date[^>]*>）\n> Region：Asia\n> Tags：A、B$/);
  });

  it("leaves out empty fields and cuts long values", () => {
    const { text } = showAnswer({ region: "ap", why: "x".repeat(3000) });
    const lines = text.split("\n").filter((line) => line.startsWith(">"));
    expect(lines).toHaveLength(2);
    expect(lines[1]?.length).toBeLessThan(200);
  });

  it.each([
    ["long", "x".repeat(200)],
    ["full of escaped characters", "&".repeat(200)],
    ["full of surrogate pairs", "\u{1F600}".repeat(90)],
  ])(
    "shows each of 20 answers within the limits, with and without blocks, when labels and texts are %s",
    (_what, label) => {
      const ids = Array.from({ length: 20 }, (_, n) => `f${n}`);
      const many = ids.map((id): QuestionField => ({ id, label: `${id} ${label}`, type: "text" }));
      const values = Object.fromEntries(ids.map((id) => [id, `of ${id}: ${label}`]));
      const answer = { user: "U2", atMs: askedAtMs, callId: "c", fields: values };
      const question = { ...asks, prompt: "Please. ".repeat(1000), fields: many, answer };
      const { text, blocks = [] } = show(question);
      const section = String(Object(blocks[1]?.text).text);
      for (const shownText of [text, section, show(question, { mrkdwnFallback: true }).text]) {
        const lines = shownText.split("\n").filter((line) => line.startsWith("> "));
        expect(lines.map((line) => /^> (f\d+) .*: of (f\d+)/.exec(line)?.slice(1))).toEqual(
          ids.map((id) => [id, id]),
        );
      }
      expect(text.length).toBeLessThanOrEqual(3900);
      expect(section.length).toBeLessThanOrEqual(3000);
    },
  );
});
