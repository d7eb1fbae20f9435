import { describe, expect, it } from "@jest/globals";
import { type ClientReason, reasons } from "../../../contracts/errors.ts";
import { createAnswerText } from "../../../lambdas/verification/slack/answer-text.ts";
import { refusalWords, tooOldWords, wordsFor } from "../../../lambdas/verification/slack/words.ts";
import type { Outcome } from "../../../lambdas/verification/task/task.ts";
import { sampleTask } from "../task/sample.ts";

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const locales = ["en", "ja"] as const;
const everyReason: readonly ClientReason[] = [...reasons, "ambiguous"];
const cases = locales.flatMap((locale) => everyReason.map((reason) => ({ locale, reason })));

function sentencesOf(text: string): string[] {
  return text.split("\n")[0]?.match(/[^.。]+[.。]/g) ?? [];
}

describe("what a user reads when a task failed", () => {
  it.each(cases)(
    "is one sentence about what happened and one about what to do: $reason, $locale",
    ({ reason, locale }) => {
      const text = wordsFor({ reason, locale, requestId });
      expect(sentencesOf(text).length).toBe(2);
      expect(text).toMatch(locale === "ja" ? /照会番号： 0d1c2b3a_$/ : /Reference: 0d1c2b3a_$/);
    },
  );

  it.each(cases)("has no code, no URL and no protocol's name: $reason, $locale", ({ reason, locale }) => {
    const [words = ""] = wordsFor({ reason, locale, requestId }).split("\n");
    expect(words).not.toMatch(/\d|https?:|JSON|RPC|HTTP|exception|_/i);
  });

  it("is Japanese in Japanese and English in English", () => {
    for (const reason of everyReason) {
      expect(wordsFor({ reason, locale: "ja", requestId })).toMatch(/[ぁ-ん]/);
      expect(wordsFor({ reason, locale: "en", requestId })).toMatch(/^[\x20-\x7e\n]+$/);
    }
  });

  it("tells a task that was lost on the way, one that may have run, and one that failed apart", () => {
    for (const locale of locales) {
      const texts = [
        wordsFor({ reason: "execution_failed", lost: true, locale, requestId }),
        wordsFor({ reason: "ambiguous", locale, requestId }),
        wordsFor({ reason: "execution_failed", locale, requestId }),
      ];
      expect(new Set(texts).size).toBe(3);
    }
    expect(wordsFor({ reason: "ambiguous", locale: "en", requestId })).toMatch(/may .*have run/);
  });
});

describe("what a user reads while a task is under way", () => {
  const placeholder = (locale: "en" | "ja", changes = {}) =>
    createAnswerText({ locale }).placeholder(sampleTask(changes));

  it("says that it is worked on, tried again, or how many of the thread go before it", () => {
    expect(placeholder("en")).toBe("Working on it …");
    expect(placeholder("en", { retryOf: requestId })).toBe("Trying again …");
    expect(placeholder("en", { ahead: 1 })).toMatch(/one by one: this one comes after the one before it …$/);
    expect(placeholder("en", { ahead: 3 })).toMatch(/after the 3 before it …$/);
    expect(placeholder("en", { ahead: 3, retryOf: requestId })).toMatch(/^Trying again … .* after the 3 before it …$/);
    for (const changes of [{}, { retryOf: requestId }, { ahead: 3 }, { ahead: 3, retryOf: requestId }])
      expect(placeholder("ja", changes)).toMatch(/[ぁ-ん]/);
  });

  it("tells of a retry before whatever it comes to, since the thread has an answer already", () => {
    const outcomes: Outcome[] = [
      { type: "answer", text: "A checkpoint." },
      { type: "answer", text: "" },
      { type: "failed", reason: "timeout", lost: false },
      { type: "unreadable" },
    ];
    for (const locale of locales) {
      for (const outcome of outcomes) {
        const first = createAnswerText({ locale }).parts(sampleTask({ outcome }));
        const again = createAnswerText({ locale }).parts(sampleTask({ outcome, retryOf: requestId }));
        expect(again).toHaveLength(1);
        expect(again[0]).toMatch(/^_.*0d1c2b3a.*_\n/);
        expect(again[0]?.endsWith(first[0] ?? "-")).toBe(true);
      }
    }
  });

  it("answers the word to cancel with how many tasks it meant", () => {
    for (const locale of locales) {
      const texts = [0, 1, 2].map((count) =>
        createAnswerText({ locale }).parts(sampleTask({ outcome: { type: "canceling", count } })),
      );
      expect(new Set(texts.map(String)).size).toBe(3);
    }
  });
});

describe("what a user reads of a message without words", () => {
  it("says what to do, and blames neither the agent nor the administrator's setup", () => {
    expect(wordsFor({ reason: "invalid_params", locale: "en", requestId })).toMatch(
      /nothing in your message.*in words/,
    );
    expect(wordsFor({ reason: "invalid_params", locale: "ja", requestId })).toMatch(/見つかりません.*文章で/);
    for (const locale of locales)
      expect(wordsFor({ reason: "invalid_params", locale, requestId })).not.toMatch(/administrator|管理者/);
  });
});

it("a user whose task took too long does not read that it was stopped, since nobody knows that", () => {
  expect(wordsFor({ reason: "timeout", locale: "en", requestId })).toMatch(/may still be running/);
  expect(wordsFor({ reason: "timeout", locale: "ja", requestId })).toMatch(/まだ動いている可能性/);
  for (const locale of locales) expect(wordsFor({ reason: "timeout", locale, requestId })).not.toMatch(/stopped|停止/);
});

describe("what a user reads who is not served", () => {
  it("names the ids that the allowlist needs", () => {
    for (const locale of locales) {
      const text = refusalWords({ asked: { team: "T01", channel: "C02", user: "U03" }, locale, requestId });
      for (const id of ["T01", "C02", "U03"]) expect(text).toContain(id);
      expect(sentencesOf(text).length).toBe(2);
    }
  });

  it("says that a message came too late and was not acted on", () => {
    for (const locale of locales) expect(sentencesOf(tooOldWords({ locale, requestId })).length).toBe(2);
    expect(tooOldWords({ locale: "en", requestId })).toMatch(/did not act/);
  });
});

describe("the texts of a task", () => {
  const { placeholder, parts } = createAnswerText({ locale: "en" });
  const textOf = (outcome: Outcome) => parts(sampleTask({ outcome }));

  it("start with a placeholder", () => {
    expect(placeholder(sampleTask())).toBe("Working on it …");
  });

  it("are the agent's answer, unable to notify anybody", () => {
    expect(textOf({ type: "answer", text: "Hello <!channel> & <@U1>" })).toEqual([
      "Hello &lt;!channel&gt; &amp; &lt;@U1&gt;",
    ]);
  });

  it("stay within what an edit takes, escapes included", () => {
    const split = textOf({ type: "answer", text: "<&>".repeat(5000) });
    for (const part of split) expect(part.length).toBeLessThanOrEqual(4000);
    expect(split.join("").replaceAll(/&lt;&amp;&gt;/g, "")).toBe("");
  });

  it("are never empty: not for an empty answer, not without an outcome", () => {
    expect(textOf({ type: "answer", text: " \n " })).toEqual(["The agent answered, but without any text."]);
    expect(parts(sampleTask())[0]).toMatch(/Something went wrong/);
  });

  it("are words for each other outcome", () => {
    expect(textOf({ type: "refused" })[0]).toMatch(/not on the list/);
    expect(textOf({ type: "too_old" })[0]).toMatch(/a day late/);
    expect(textOf({ type: "failed", reason: "execution_failed", lost: true })[0]).toMatch(/interrupted/);
    expect(textOf({ type: "failed", reason: "timeout", lost: false })[0]).toMatch(/too long|longer/);
  });
});
