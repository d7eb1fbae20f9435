import { describe, expect, it } from "@jest/globals";
import { isTooLong, parseBlocks } from "@sekisho/local/fake-slack/blocks.ts";
import { lastPart } from "@sekisho/verification/slack/markdown/newest.ts";
import { decodeButton } from "@sekisho/verification/slack/messages/buttons.ts";
import { canceledAnswerText } from "@sekisho/verification/slack/messages/outcome-text.ts";
import { percentBar } from "@sekisho/verification/slack/messages/placeholder.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { sampleTask } from "../../task/sample.ts";
import { newestText } from "../markdown/as-text.ts";

const locales = ["en", "ja"] as const;
const retryOf = "7d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";

function show(changes: Partial<Task> = {}, locale: "en" | "ja" = "en") {
  return createTaskText({ locale }).placeholder(sampleTask(changes));
}

const progress = (changes: Partial<NonNullable<Task["progress"]>>) => ({
  progress: { shownAtMs: 1, ...changes },
});
const typesOf = (changes: Partial<Task>) => (show(changes).blocks ?? []).map(({ type }) => type);

describe("texts of agents and people in a message", () => {
  const signs = "from ~1 to ~2 *now* `x` <https://a.example/b|docs>";
  const shownSigns = "from ∼1 to ∼2 ∗now∗ ˋxˋ docs (https://a.example/b)";
  const steps = [{ id: "a", title: signs, status: "completed" as const }];
  const failure = {
    type: "failed" as const,
    reason: "execution_failed" as const,
    lost: false,
    explanation: signs,
  };
  const message = { ...sampleTask().message, text: signs };

  it.each(locales)("shows texts of agents and people literally, in %s", (locale) => {
    const texts = createTaskText({ locale });
    const { text, blocks } = show(progress({ text: signs, steps }), locale);
    expect(text.split("\n").slice(1)).toEqual([shownSigns, `✓ ${shownSigns}`]);
    expect(JSON.stringify(blocks)).toContain(`\\n${shownSigns}`);
    expect(texts.parts(sampleTask({ outcome: failure }))[0]?.text).toContain(`\n> ${shownSigns}\n`);
    expect(texts.opening(sampleTask({ message })).text).toContain(shownSigns);
  });
});

describe("a canceled task", () => {
  const canceledFields = {
    cancelReason: "asked" as const,
    outcome: { type: "failed" as const, reason: "canceled" as const, lost: false },
  };
  const writtenFields = {
    ...canceledFields,
    ...progress({ partialText: "## Step 1\nDone so far. <!channel>" }),
  };
  const parts = (changes: Partial<Task>, locale: "en" | "ja" = "en") =>
    createTaskText({ locale }).parts(sampleTask(changes));

  it.each(locales)(
    "keeps the text of a canceled agent and marks it as incomplete, in %s",
    (locale) => {
      const [part, ...more] = parts(writtenFields, locale);
      expect(more).toEqual([]);
      expect(part?.blocks?.[0]).toEqual({
        type: "markdown",
        text: "## Step 1\nDone so far. <\u2060!channel>",
      });
      expect(JSON.stringify(part?.blocks?.slice(1))).toContain(canceledAnswerText[locale]);
      expect(JSON.stringify(part?.blocks?.at(-1))).toContain("0d1c2b3a");
      const [plain] = parts({ ...writtenFields, mrkdwnFallback: true }, locale);
      expect(plain?.blocks).toBeUndefined();
      expect(plain?.text).toMatch(/^\*Step 1\*\nDone so far\. &lt;!channel&gt;\n\n/);
      expect(plain?.text).toContain(canceledAnswerText[locale]);
    },
  );

  it("shows only the notice of cancellation if the agent wrote nothing or Slack refused the text", () => {
    const alone = parts(canceledFields);
    expect(
      parts({ ...canceledFields, ...progress({ partialText: " <!-- nothing --> " }) }),
    ).toEqual(alone);
    const undelivered = { delivery: { status: "failure_notice" as const } };
    expect(parts({ ...writtenFields, ...undelivered })).toEqual(
      parts({ ...canceledFields, ...undelivered }),
    );
  });

  it("drops the partial text of a task that failed", () => {
    const failedFields = {
      outcome: { ...canceledFields.outcome, reason: "execution_failed" as const },
    };
    expect(parts({ ...writtenFields, ...failedFields })).toEqual(parts(failedFields));
  });

  it("says that a canceled task may still be running if nobody could confirm that it stopped", () => {
    const outcome = { ...canceledFields.outcome, reason: "ambiguous" as const };
    const [askedText, lostText] = [{ cancelReason: "asked" as const }, {}].map(
      (reason) => parts({ ...reason, outcome })[0]?.text,
    );
    expect(askedText).toMatch(/cancel/);
    expect(lostText).not.toMatch(/cancel/);
    expect(JSON.stringify(parts({ ...writtenFields, outcome })[0]?.blocks)).toContain(
      askedText?.split("\n")[0],
    );
  });

  it("shows a cancellation without any sign of a failure", () => {
    for (const changes of [canceledFields, writtenFields])
      expect(JSON.stringify(parts(changes))).not.toMatch(/❌|⚠|:x:|warning/);
  });
});

describe("the placeholder", () => {
  it.each(locales)(
    "words the placeholder differently for each state and drops the queue position once the task runs, in %s",
    (locale) => {
      const states: Partial<Task>[] = [
        {},
        { retryOf },
        { state: "queued", queuePosition: 1 },
        { state: "queued", queuePosition: 3 },
        { queuePosition: 3, retryOf },
        { state: "asking" },
      ];
      const texts = states.map((changes) => show(changes, locale).text);
      expect(new Set(texts).size).toBe(states.length);
      for (const text of texts) expect(/[ぁ-ん]/.test(text)).toBe(locale === "ja");
      expect(show({ state: "queued", queuePosition: 2 }, locale).text).toContain("2");
      expect(show({ state: "waiting", queuePosition: 3 }, locale)).toEqual(
        show({ state: "waiting" }, locale),
      );
    },
  );

  it("shows the agent's progress as its text and a bar", () => {
    const { text, blocks } = show({
      state: "waiting",
      ...progress({ text: "Reading 3 of 10", percent: 31.7 }),
    });
    expect(text).toBe("Working on it…\nReading 3 of 10\n▓▓▓░░░░░░░ 31%");
    expect(JSON.stringify(blocks)).toContain("Reading 3 of 10");
  });

  it("leaves room for the plan beside a long partial answer, because Slack limits all blocks together", () => {
    const steps = Array.from({ length: 50 }, (_, n) => ({
      id: `${n}`,
      title: "t".repeat(200),
      status: "pending" as const,
    }));
    const { blocks = [] } = show({
      state: "waiting",
      ...progress({ steps, partialText: "word ".repeat(10_000) }),
    });
    expect(blocks.map(({ type }) => type)).toEqual(["markdown", "context", "plan", "actions"]);
    expect(isTooLong(blocks)).toBe(false);
    expect(String(blocks[0]?.text).length).toBeGreaterThan(1000);
  });

  it("shows the agent's steps as a plan, or as lines if Slack refuses blocks", () => {
    const steps = [
      { id: "a", title: "Read <!channel>", status: "completed" },
      { id: "b", title: "Think", status: "pending" },
      { id: "c", title: "Write", status: "pending" },
      { id: "b", title: "Think twice", status: "in_progress" },
      { id: "d", title: "Send", status: "failed" },
    ] as const;
    const task = { state: "waiting", ...progress({ steps: [...steps] }) } as const;
    const { text, blocks = [] } = show(task);
    const lines = "✓ Read &lt;!channel&gt;\n▸ Think twice\n○ Write\n✗ Send";
    const activity = show({ state: "waiting" }).text;
    expect(text).toBe(`${activity}\n${lines}`);
    expect(blocks.map(({ type }) => type)).toEqual(["section", "plan", "actions"]);
    expect(parseBlocks({ json: blocks, refusesMarkdown: false })).toEqual({ blocks });
    expect(blocks[1]).toMatchObject({
      tasks: [
        { task_id: "a", title: "Read <!channel>", status: "complete" },
        { task_id: "b", title: "Think twice", status: "in_progress" },
        { task_id: "c", status: "pending" },
        { task_id: "d", status: "error" },
      ],
    });
    expect(show({ ...task, mrkdwnFallback: true })).toEqual({ text: `${activity}\n${lines}` });
  });

  it("names a step without a visible title by its id, or by a general word if the id is invisible too", () => {
    const steps = [
      { id: "a\u0000\u202eb", title: "\u200b", status: "pending" },
      { id: "\u0001\u200b", title: "\u0007", status: "pending" },
      { id: "\u0002", title: " ", status: "completed" },
    ] as const;
    const titles = (locale: "en" | "ja") => {
      const { text, blocks = [] } = show({
        state: "waiting",
        locale,
        ...progress({ steps: [...steps] }),
      });
      expect(parseBlocks({ json: blocks, refusesMarkdown: false })).toEqual({ blocks });
      const cards = blocks.find(({ type }) => type === "plan")?.tasks as { title: string }[];
      return [text.split("\n").slice(1), cards.map(({ title }) => title)];
    };
    expect(titles("en")).toEqual([
      ["○ ab", "○ Step", "✓ Step"],
      ["ab", "Step", "Step"],
    ]);
    expect(titles("ja")).toEqual([
      ["○ ab", "○ 手順", "✓ 手順"],
      ["ab", "手順", "手順"],
    ]);
  });

  it("shows the text written before a question only while the question is open", () => {
    const question = { index: 0, prompt: "Shall I?", options: [], askedAtMs: 2, expiresAtMs: 9 };
    const asking = {
      state: "asking" as const,
      question,
      ...progress({ partialText: "Written so far." }),
    };
    expect(show(asking).blocks?.[0]).toEqual({ type: "markdown", text: "Written so far." });
    expect(show(asking).text).toBe(show({ state: "asking" }).text);
    expect(show({ ...asking, state: "waiting" }).text).toBe(show({ state: "waiting" }).text);
    const { progress: writtenProgress } = asking;
    const sameTime = {
      ...asking,
      state: "waiting" as const,
      progress: { ...writtenProgress, shownAtMs: 2 },
    };
    expect(show(sameTime).text).toBe(show({ state: "waiting" }).text);
    const later = { ...sameTime, progress: { ...writtenProgress, shownAtMs: 3 } };
    expect(show(later).text).not.toBe(show({ state: "waiting" }).text);
  });

  it("shows at most 300 characters of the agent's progress text", () => {
    const showLength = (length: number) => show(progress({ text: "a".repeat(length) })).text;
    expect(showLength(300)).toContain("a".repeat(300));
    expect(showLength(301)).toMatch(/[^a]a{299}…/);
  });

  it("cuts the agent's progress text and lets it notify nobody", () => {
    const { text } = show(progress({ text: `<!channel>\n${"&".repeat(500)}` }));
    expect(text).toContain("&lt;!channel&gt; &amp;");
    expect(text.replaceAll("&amp;", "&").replaceAll("&lt;", "<").length).toBeLessThan(350);
    expect(text).toMatch(/…$/);
  });

  it("fills the progress bar only at 100 percent", () => {
    const fullCells = (percent: number) => percentBar(percent).replace(/[^▓]/g, "").length;
    expect([0, 9, 50, 99.9, 100, 120, -3].map(fullCells)).toEqual([0, 0, 5, 9, 10, 10, 0]);
    expect([99.9, 120, -3].map(percentBar).map((bar) => bar.slice(11))).toEqual([
      "99%",
      "100%",
      "0%",
    ]);
  });

  it("shows the answer as far as it is written, or its newest part if not all fits", () => {
    const writtenFields = progress({ partialText: "**So far** <!channel>\n```ts\ncode" });
    expect(typesOf({ state: "waiting", ...writtenFields })).toEqual([
      "markdown",
      "context",
      "actions",
    ]);
    expect(show({ state: "waiting", ...writtenFields }).blocks?.[0]).toEqual({
      type: "markdown",
      text: "**So far** <\u2060!channel>\n```ts\ncode\n```",
    });
    const much = show(progress({ partialText: `${"関所。\n".repeat(3000)}the end` }));
    expect(JSON.stringify(much.blocks?.[0])).toMatch(/"….*the end"/);
    expect(String(much.blocks?.[0]?.text).length).toBeLessThanOrEqual(12_000);
  });

  it("exposes the target of a link in code whose beginning is cut off", () => {
    const partialText = `\`\`${"word ".repeat(2500)}[https://bank.example](https://evil.example)\`\``;
    const [block] = show({ state: "waiting", ...progress({ partialText }) }).blocks ?? [];
    expect(block?.text).toContain("https://bank.example (https://evil.example )");
  });

  it("hides comments of a long text and reads only its end", () => {
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

  it("omits text that a native stream already shows, unless Slack refused the stream", () => {
    const writtenFields = progress({ partialText: "So far" });
    const stream = { messages: [{ ts: "1.1", startedAtMs: 1 }], length: 6 };
    expect(typesOf({ ...writtenFields, stream })).toEqual(["section", "actions"]);
    expect(typesOf({ ...writtenFields, stream: { ...stream, refused: true } })).toEqual([
      "markdown",
      "context",
      "actions",
    ]);
    expect(typesOf({ ...writtenFields, stream: { ...stream, messages: [] } })).toEqual([
      "markdown",
      "context",
      "actions",
    ]);
  });

  it("falls back to plain text for the placeholder when Slack refuses blocks", () => {
    const { text, blocks } = show({
      mrkdwnFallback: true,
      ...progress({ partialText: `**So far**\n${"word ".repeat(3000)}end` }),
    });
    expect(blocks).toBeUndefined();
    expect(text).toMatch(/^Writing…\n(.|\n)*end$/);
    expect(text.length).toBeLessThanOrEqual(3900);
  });

  it("shows a cancel button that names the task, until the task is being ended", () => {
    for (const locale of locales) {
      const elements = show({}, locale).blocks?.at(-1)?.elements as
        | { action_id: string; value: string }[]
        | undefined;
      const button = elements?.[0];
      expect(button && decodeButton(button)).toEqual({
        requestId: sampleTask().id,
        button: { type: "cancel" },
      });
      for (const cancelReason of ["asked", "deadline", "unanswered"] as const) {
        expect(JSON.stringify(show({ cancelReason }, locale))).not.toMatch(/sekisho_cancel/);
        expect(show({ cancelReason }, locale).text).not.toBe(show({}, locale).text);
      }
    }
  });
});

describe("the assistant's status", () => {
  it.each(locales)("words the assistant's status differently for each state, in %s", (locale) => {
    const { status } = createTaskText({ locale });
    const states: Partial<Task>[] = [
      {},
      { retryOf },
      { state: "queued", queuePosition: 1 },
      { state: "asking" },
      { state: "waiting", ...progress({ partialText: "So far" }) },
      { cancelReason: "asked" },
      { cancelReason: "deadline" },
    ];
    const texts = states.map((changes) => status(sampleTask(changes)));
    expect(new Set(texts).size).toBe(states.length);
    for (const text of texts) expect(/[ぁ-ん]/.test(text)).toBe(locale === "ja");
  });
});

describe("a message that was deleted too late", () => {
  it.each(locales)(
    "names the button that cancels the task of a message deleted too late, in %s",
    (locale) => {
      const texts = createTaskText({ locale });
      const [label] = (texts.placeholder(sampleTask()).blocks ?? []).flatMap(({ elements }) => {
        return Array.isArray(elements) ? elements.map((element) => String(element.text?.text)) : [];
      });
      expect(label).toMatch(/^(Cancel|キャンセル)$/);
      expect(texts.lateChange({ task: sampleTask(), lateChange: "deleted" }).text).toContain(
        locale === "en" ? `Press ${label} ` : `「${label}」`,
      );
    },
  );
});

describe("the first message of a slash command's thread", () => {
  it("opens the thread of a slash command with the person and the request, and notifies nobody else", () => {
    const task = (changes: Partial<Task["message"]>) =>
      sampleTask({ message: { ...sampleTask().message, ...changes } });
    const { opening } = createTaskText({ locale: "en" });
    expect(opening(task({ text: "deploy <!channel>" })).text).toBe(
      "<@U1> asked: deploy &lt;!channel&gt;",
    );
    expect(opening(task({ text: "" })).text).toBe("<@U1> asked: (no text)");
    expect(opening(task({ text: "word ".repeat(200) })).text.length).toBeLessThan(330);
    expect(opening(task({ channel: "D1", direct: true, text: "deploy" })).text).toBe(
      "You asked: deploy",
    );
  });
});

const maxLength = 200;

describe("the newest part of a text", () => {
  const [old, line, last] = ["x".repeat(500), "b".repeat(100), "c".repeat(95)];
  it.each([
    ["is the whole text at the limit", "a".repeat(200), "a".repeat(200)],
    ["keeps a block that just fits", `${old}\n\n${"b".repeat(197)}`, `…\n\n${"b".repeat(197)}`],
    ["keeps a line that just fits", `${old}\n${line}\n${last}`, `…\n\n${line}\n${last}`],
    ["leaves out a line that does not fit", `${old}\n${line}b\n${last}`, `…\n\n${last}`],
    [
      "leaves out a remainder of 100 characters",
      `${old}\n\n${"b".repeat(94)}`,
      `…\n\n${"b".repeat(94)}`,
    ],
    [
      "shows a remainder of 101 characters",
      `${old}\n\n${"b".repeat(93)}`,
      `…\n\n${"x".repeat(101)}\n\n${"b".repeat(93)}`,
    ],
  ])("the newest part of a text %s", (_title, text, newest) => {
    expect(newestText({ text, maxLength })).toBe(newest);
  });

  it("closes code that is still being written", () => {
    expect(newestText({ text: "Look:\n```ts\nconst a", maxLength })).toBe(
      "Look:\n```ts\nconst a\n```",
    );
  });

  it("begins the newest part with a whole line and marks that earlier text is left out", () => {
    const text = Array.from({ length: 50 }, (_, line) => `Line ${line}.`).join("\n");
    expect(newestText({ text, maxLength })).toMatch(/^…\n\nLine \d+\.\n(Line \d+\.\n)+Line 49\.$/);
  });

  it("reopens the code in which the newest part begins", () => {
    const text = `\`\`\`ts\n${Array.from({ length: 50 }, (_, line) => `line(${line});`).join("\n")}`;
    expect(newestText({ text, maxLength })).toMatch(
      /^…\n\n```ts\nline\(\d+\);\n(.|\n)*line\(49\);\n```$/,
    );
  });

  it("shows the end of a single overlong line", () => {
    const text = `${"word ".repeat(200)}end`;
    expect(newestText({ text, maxLength })).toMatch(/^…\n\nword (word )+end$/);
  });

  it.each([200, 201])(
    "begins the newest part with a whole character at a limit of %d",
    (length) => {
      const text = newestText({ text: "👩".repeat(500), maxLength: length });
      expect(text).toMatch(/^…\n\n👩(👩)+$/u);
      expect(text.isWellFormed()).toBe(true);
    },
  );

  it("keeps the newest part within the limit for any text", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ..."\n;\n\n;```\n;- item\n;👩‍👩‍👧‍👦;関所は検問所です。;| a | b |\n|---|---|\n".split(";"),
        "word ".repeat(20),
      ),
      fc.string({ unit: "binary", maxLength: 100 }),
    );
    forAll(fc.array(piece, { maxLength: 40 })).hold((pieces) => {
      const text = newestText({ text: pieces.join(""), maxLength });
      expect(text.length).toBeLessThanOrEqual(maxLength);
      expect(text.isWellFormed()).toBe(true);
      if (pieces.join("").trim() !== "") expect(text.trim()).not.toBe("");
    }, 300);
  });
});

describe("the part of a long text that is read", () => {
  const words = (length: number) => "word ".repeat(length / 5);
  const part = (text: string) => lastPart({ text, maxLength });

  it("returns all of a short text", () => {
    expect(part("One.\n\nTwo.")).toBe("One.\n\nTwo.");
    expect(part(words(200))).toBe(words(200));
  });

  it("returns a part whose size does not grow with the text", () => {
    const lengths = [words(1000), words(300_000), `\`\`\`\n${"line\n".repeat(60_000)}`].map(
      (text) => part(text).length,
    );
    expect(Math.max(...lengths)).toBeLessThanOrEqual(maxLength + 10);
  });

  it("hides a comment that began before the part that is read", () => {
    expect(part(`${words(500)}<!-- ${"secret ".repeat(50)}--> seen`)).toBe(" seen");
    expect(part(`${words(500)}<!-- ${"secret ".repeat(50)}`)).toBe("");
    expect(part(`<!-- ${"secret ".repeat(50)}--> seen`)).toBe(" seen");
    for (const comment of ["<!-- secret -->", "<!---->"]) {
      for (let inside = 1; inside < comment.length; inside += 1) {
        const tail = "t".repeat(maxLength - comment.length + inside);
        expect(part(`${words(50)}${comment}${tail}`)).toBe(`${tail}`);
      }
      const after = "t".repeat(maxLength);
      expect(part(`${words(50)}${comment}${after}`)).toBe(`${after}`);
    }
    expect(part(`<!-- a --> ${words(500)}`)).toBe(`${words(200)}`);
  });

  it("continues the code in which the part begins", () => {
    expect(part(`\`\`\`ts\n${"line\n".repeat(100)}`)).toMatch(/^```ts\n(line\n)+$/);
    expect(part(`\`\`\`ts\n\`\`\`\n${"line\n".repeat(100)}`)).toMatch(/^(line\n)+$/);
  });
});
