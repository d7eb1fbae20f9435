import { describe, expect, it } from "@jest/globals";
import { decodeButton } from "../../../../lambdas/verification/slack/messages/blocks.ts";
import { createTaskText, percentBar } from "../../../../lambdas/verification/slack/messages/task-text.ts";
import type { Task } from "../../../../lambdas/verification/task/task.ts";
import { sampleTask } from "../../task/sample.ts";

const locales = ["en", "ja"] as const;
const retryOf = "7d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";

function show(changes: Partial<Task> = {}, locale: "en" | "ja" = "en") {
  return createTaskText({ locale }).placeholder(sampleTask(changes));
}

const progress = (changes: Partial<NonNullable<Task["progress"]>>) => ({ progress: { shownAtMs: 1, ...changes } });
const typesOf = (changes: Partial<Task>) => (show(changes).blocks ?? []).map(({ type }) => type);

describe("the placeholder", () => {
  it("says that it is worked on, tried again, or how many of the thread go before it", () => {
    expect(show().text).toBe("Working on it …");
    expect(show({ retryOf }).text).toBe("Trying again …");
    expect(show({ state: "queued", queuePosition: 1 }).text).toMatch(
      /one by one: this one comes after the one before it …$/,
    );
    expect(show({ state: "queued", queuePosition: 3 }).text).toMatch(/after the 3 before it …$/);
    expect(show({ queuePosition: 3, retryOf }).text).toMatch(/^Trying again … .* after the 3 before it …$/);
    for (const changes of [{}, { retryOf }, { queuePosition: 3 }, { queuePosition: 3, retryOf }])
      expect(show(changes, "ja").text).toMatch(/[ぁ-ん]/);
  });

  it("speaks no more of those that went before it once it is its turn", () => {
    expect(show({ state: "waiting", queuePosition: 3 }).text).toBe("Working on it …");
  });

  it("tells how far the agent is, in the agent's words and as a bar", () => {
    const { text, blocks } = show({ state: "waiting", ...progress({ text: "Reading 3 of 10", percent: 31.7 }) });
    expect(text).toBe("Working on it …\nReading 3 of 10\n▓▓▓░░░░░░░ 31 %");
    expect(JSON.stringify(blocks)).toContain("Reading 3 of 10");
  });

  it("cuts the agent's words, and lets them notify nobody", () => {
    const { text } = show(progress({ text: `<!channel>\n${"&".repeat(500)}` }));
    expect(text).toContain("&lt;!channel&gt; &amp;");
    expect(text.replaceAll("&amp;", "&").replaceAll("&lt;", "<").length).toBeLessThan(350);
    expect(text).toMatch(/…$/);
  });

  it("shows a bar that is full only at the end", () => {
    expect([0, 9, 50, 99.9, 100, 120, -3].map(percentBar)).toEqual([
      "░░░░░░░░░░ 0 %",
      "░░░░░░░░░░ 9 %",
      "▓▓▓▓▓░░░░░ 50 %",
      "▓▓▓▓▓▓▓▓▓░ 99 %",
      "▓▓▓▓▓▓▓▓▓▓ 100 %",
      "▓▓▓▓▓▓▓▓▓▓ 100 %",
      "░░░░░░░░░░ 0 %",
    ]);
  });

  it("shows the answer as far as it is written, the newest of it where not all fits", () => {
    const written = progress({ partialText: "**So far** <!channel>\n```ts\ncode" });
    expect(typesOf({ state: "waiting", ...written })).toEqual(["markdown", "context", "actions"]);
    expect(show({ state: "waiting", ...written }).blocks?.[0]).toEqual({
      type: "markdown",
      text: "**So far** <\u2060!channel>\n```ts\ncode\n```",
    });
    const much = show(progress({ partialText: `${"関所。\n".repeat(3000)}the end` }));
    expect(JSON.stringify(much.blocks?.[0])).toMatch(/"….*the end"/);
    expect(String(much.blocks?.[0]?.text).length).toBeLessThanOrEqual(12_000);
  });

  it("has no link in disguise where the beginning of code is cut off", () => {
    const partialText = `\`\`${"word ".repeat(2500)}[https://bank.example](https://evil.example)\`\``;
    const [block] = show({ state: "waiting", ...progress({ partialText }) }).blocks ?? [];
    expect(block?.text).toContain("https://bank.example (https://evil.example )");
  });

  it("shows no comment of a long text, and reads only its end", () => {
    const comment = `<!-- ${"secret ".repeat(1000)}-->`;
    for (const partialText of [
      `${"word ".repeat(5000)}${comment} the end`,
      `${"word ".repeat(50_000)}<!-- ${"secret ".repeat(8000)}--> the end`,
      // Code that opens far before the part that is read makes no code of the comment.
      `\`${"word ".repeat(50_000)}${comment}\` the end`,
    ]) {
      const [block] = show({ state: "waiting", ...progress({ partialText }) }).blocks ?? [];
      expect(block?.text).toMatch(/the end$/);
      expect(block?.text).not.toContain("secret");
    }
  });

  it("does not show what a native stream shows already, unless Slack refused the stream", () => {
    const written = progress({ partialText: "So far" });
    const stream = { messages: [{ ts: "1.1", startedAtMs: 1 }], length: 6 };
    expect(typesOf({ ...written, stream })).toEqual(["section", "actions"]);
    expect(typesOf({ ...written, stream: { ...stream, refused: true } })).toEqual(["markdown", "context", "actions"]);
    expect(typesOf({ ...written, stream: { ...stream, messages: [] } })).toEqual(["markdown", "context", "actions"]);
  });

  it("is text alone where Slack does not take blocks", () => {
    const { text, blocks } = show({
      mrkdwnFallback: true,
      ...progress({ partialText: `**So far**\n${"word ".repeat(3000)}end` }),
    });
    expect(blocks).toBeUndefined();
    expect(text).toMatch(/^Writing …\n(.|\n)*end$/);
    expect(text.length).toBeLessThanOrEqual(3900);
  });

  it("has a button to cancel that names the task, until the task is being ended", () => {
    for (const locale of locales) {
      const elements = show({}, locale).blocks?.at(-1)?.elements as { action_id: string; value: string }[] | undefined;
      const button = elements?.[0];
      expect(button && decodeButton(button)).toEqual({ requestId: sampleTask().id, button: { type: "cancel" } });
      for (const cancelReason of ["asked", "deadline", "unanswered"] as const) {
        expect(JSON.stringify(show({ cancelReason }, locale))).not.toMatch(/sekisho_cancel/);
        expect(show({ cancelReason }, locale).text).not.toBe(show({}, locale).text);
      }
    }
  });

  it("says while a question is open that it waits for the answer", () => {
    expect(show({ state: "asking" }).text).toMatch(/^Waiting for an answer/);
  });
});

describe("the assistant's status", () => {
  it("says in a few words what is done", () => {
    for (const locale of locales) {
      const { status } = createTaskText({ locale });
      const states: Partial<Task>[] = [
        {},
        { retryOf },
        { state: "queued", queuePosition: 2 },
        { state: "asking" },
        { state: "waiting", ...progress({ partialText: "So far" }) },
        { cancelReason: "asked" },
        { cancelReason: "deadline" },
      ];
      const said = states.map((changes) => status(sampleTask(changes)));
      expect(new Set(said).size).toBe(states.length);
      for (const words of said) expect(words).toMatch(locale === "ja" ? /^が.*…$/ : /^(is|will) .*…$/);
    }
  });
});

describe("what opens the thread of a slash command", () => {
  it("says who asked for what, and can notify nobody else", () => {
    const task = (changes: Partial<Task["message"]>) =>
      sampleTask({ message: { ...sampleTask().message, ...changes } });
    const { opening } = createTaskText({ locale: "en" });
    expect(opening(task({ text: "deploy <!channel>" })).text).toBe("<@U1> asked: deploy &lt;!channel&gt;");
    expect(opening(task({ text: "" })).text).toBe("<@U1> asked: (no text)");
    expect(opening(task({ text: "word ".repeat(200) })).text.length).toBeLessThan(330);
    expect(opening(task({ channel: "D1", direct: true, text: "deploy" })).text).toBe("You asked: deploy");
    expect(createTaskText({ locale: "ja" }).opening(task({ text: "デプロイ" })).text).toBe("<@U1>さんの依頼：デプロイ");
  });
});
