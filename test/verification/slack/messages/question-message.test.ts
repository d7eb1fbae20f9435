import { describe, expect, it } from "@jest/globals";
import { decodeButton } from "../../../../lambdas/verification/slack/messages/blocks.ts";
import type { ButtonClickRefusal } from "../../../../lambdas/verification/slack/messages/question.ts";
import { createTaskText } from "../../../../lambdas/verification/slack/messages/task-text.ts";
import type { AgentQuestion, Task } from "../../../../lambdas/verification/task/task.ts";
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

describe("a question", () => {
  it("shows the agent's words, its choices, how else to answer, and until when", () => {
    const shown = show();
    expect(shown.text).toMatch(
      /^Deploy \*now\*\? &lt;!channel&gt;\n\nPress a button, or reply .*\nAnswer until <!date\^1760000600\^/,
    );
    expect(shown.blocks?.map(({ type }) => type)).toEqual(["markdown", "actions", "context"]);
    expect(shown.blocks?.[0]?.text).toBe("Deploy **now**? <\u2060!channel>");
  });

  it("has buttons that say which choice of which question they are, in the styles that Slack knows", () => {
    const shown = buttonsOf(show());
    expect(shown.map(({ text }) => text.text)).toEqual(["Yes", "No *way*"]);
    expect(shown.map(({ style }) => style)).toEqual(["primary", undefined]);
    expect(shown.map((button) => decodeButton(button)?.button)).toEqual([
      { type: "answer", question: 2, option: 0 },
      { type: "answer", question: 2, option: 1 },
    ]);
  });

  it("has at most 25 buttons of 75 characters, and names the other choices", () => {
    const options = Array.from({ length: 30 }, (_, index) => ({
      id: `${index}`,
      label: `${index} ${"x".repeat(100)}`,
    }));
    const shown = show({ options });
    expect(buttonsOf(shown)).toHaveLength(25);
    for (const { text } of buttonsOf(shown)) expect(text.text.length).toBeLessThanOrEqual(75);
    expect(shown.text).toMatch(/further choices:\n• 25 x/);
  });

  it("has no empty button and no empty prompt", () => {
    const shown = show({
      prompt: " ",
      options: [
        { id: "yes", label: " " },
        { id: "", label: "" },
      ],
    });
    expect(buttonsOf(shown).map(({ text }) => text.text)).toEqual(["yes", "2"]);
    expect(shown.blocks?.[0]?.text).toBe("The agent needs an answer to go on.");
  });

  it("has no button that nobody can read", () => {
    const shown = show({ options: ["\u200b", "\u3164\u2060 ", "\u00ad"].map((label) => ({ id: "\u200b", label })) });
    expect(buttonsOf(shown).map(({ text }) => text.text)).toEqual(["1", "2", "3"]);
  });

  it("says until when also where there are more choices than can be told", () => {
    const options = Array.from({ length: 100 }, (_, index) => ({
      id: `${index}`,
      label: `${index} ${"x".repeat(70)}`,
    }));
    const said = show({ options }).blocks?.at(-1) as unknown as { elements: { text: string }[] };
    expect(said.elements[0]?.text).toMatch(/^Answer until <!date\^/);
    expect(show({ options }, { mrkdwnFallback: true }).text).toMatch(/\nAnswer until <!date\^/);
  });

  it("has no link in disguise where its end, and with it the end of code, is cut off", () => {
    const shown = show({ prompt: `\`\`[https://bank.example](https://evil.example) ${"word ".repeat(2000)}\`\`` });
    expect(shown.blocks?.[0]?.text).toMatch(/https:\/\/bank\.example \(https:\/\/evil\.example\)/);
  });

  it("without choices asks for a reply", () => {
    const shown = show({ options: [] });
    expect(buttonsOf(shown)).toEqual([]);
    expect(shown.text).toMatch(/Reply in this thread to answer\./);
  });

  it("for credentials has no buttons and asks for no reply, but warns", () => {
    for (const locale of ["en", "ja"] as const) {
      const shown = show({ kind: "auth" }, {}, askedAtMs, locale);
      expect(buttonsOf(shown)).toEqual([]);
      expect(shown.text).toMatch(locale === "en" ? /never write a password/ : /パスワードやトークンはここに書かない/);
      expect(shown.text).not.toMatch(/reply|返信/);
    }
  });

  it("is text alone where Slack does not take blocks, with its choices", () => {
    const shown = show({}, { mrkdwnFallback: true });
    expect(shown.blocks).toBeUndefined();
    expect(shown.text).toMatch(/\nAnswer until .*\nReply in this thread to answer\.\n• Yes\n• No \*way\*$/);
  });

  it("is cut where it is endless", () => {
    const shown = show({ prompt: "word ".repeat(10_000) });
    expect(shown.text.length).toBeLessThanOrEqual(3900);
    const options = Array.from({ length: 80 }, (_, index) => ({ id: `${index}`, label: "&".repeat(75) }));
    for (const plain of [{}, { mrkdwnFallback: true as const }])
      expect(show({ prompt: "word ".repeat(10_000), options }, plain).text.length).toBeLessThanOrEqual(3900);
    expect(String(shown.blocks?.[0]?.text).length).toBeLessThanOrEqual(8000);
  });
});

describe("a question that is over", () => {
  const answer = { user: "U2", atMs: askedAtMs + 60_000, callId: "x" };

  it("says what was chosen, by whom and when, and has no buttons any more", () => {
    const shown = show({ answer: { ...answer, option: 0 } });
    expect(shown.text).toMatch(
      /\n✔ \*Yes\* — <@U2>, <!date\^1760000060\^\{date_short_pretty\} at \{time\}\|2025-10-09 08:54 UTC>$/,
    );
    expect(shown.blocks?.map(({ type }) => type)).toEqual(["markdown", "section"]);
  });

  it("says what was answered in words, which can notify nobody", () => {
    expect(show({ answer: { ...answer, text: "Yes, but <!channel> later" } }).text).toMatch(
      /✔ in the thread — <@U2>, .*\n> Yes, but &lt;!channel&gt; later$/,
    );
  });

  it("fits into an edit, however long the question and its answer are", () => {
    const long = show({ prompt: "Shall I? ".repeat(1000), answer: { ...answer, text: "&".repeat(1000) } });
    expect(long.text.length).toBeLessThanOrEqual(4000);
  });

  it("says so where nobody answered in time", () => {
    expect(show({}, {}, question.expiresAtMs - 1).text).not.toMatch(/in time/);
    for (const shown of [
      show({}, {}, question.expiresAtMs),
      show({}, { cancelReason: "unanswered" }),
      show({}, { outcome: { type: "unanswered" } }),
    ]) {
      expect(shown.text).toMatch(/Nobody answered in time\.$/);
      expect(buttonsOf(shown)).toEqual([]);
    }
  });

  it("says so where its task is over", () => {
    for (const task of [
      { cancelReason: "asked" as const },
      { outcome: { type: "failed", reason: "canceled", lost: false } as const },
    ])
      expect(show({}, task).text).toMatch(/The task is over/);
  });

  it("keeps the answer, whatever became of the task and its time", () => {
    expect(
      show({ answer: { ...answer, option: 0 } }, { cancelReason: "deadline" }, Number.MAX_SAFE_INTEGER).text,
    ).toMatch(/✔ \*Yes\*/);
  });
});

it("whoever presses a button in vain reads why", () => {
  const refusals: ButtonClickRefusal[] = [
    { type: "not_yours" },
    { type: "answered", by: "U2", atMs: askedAtMs },
    { type: "expired" },
    { type: "over" },
  ];
  const { buttonClickRefused } = createTaskText({ locale: "en" });
  const said = refusals.map((refusal) => buttonClickRefused({ refusal, locale: undefined }));
  expect(new Set(said).size).toBe(4);
  expect(said[1]).toMatch(/^<@U2> answered this already \(<!date\^1760000000\^/);
  for (const refusal of refusals) expect(buttonClickRefused({ refusal, locale: "ja" })).toMatch(/[ぁ-ん]/);
});
