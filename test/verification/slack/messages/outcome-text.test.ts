import { describe, expect, it } from "@jest/globals";
import { type ClientReason, reasons } from "@sekisho/contracts/errors.ts";
import {
  chooseContact,
  createOutcomeText,
} from "@sekisho/verification/slack/messages/outcome-text.ts";
import type { TaskOutcome } from "@sekisho/verification/task/task.ts";
import { askedAtMs, sampleTask } from "../../task/sample.ts";

type Ended = Exclude<TaskOutcome, { type: "answer" }>;
const locales = ["en", "ja"] as const;
const everyReason: readonly ClientReason[] = [...reasons, "ambiguous"];
const failWith = (reason: ClientReason, isLost = false): Ended => ({
  type: "failed",
  reason,
  lost: isLost,
});
const others: Ended[] = [
  { type: "refused" },
  { type: "too_old" },
  { type: "unreadable" },
  { type: "unanswered" },
  { type: "not_yours" },
  { type: "limited", by: "user" },
  { type: "limited", by: "channel" },
  { type: "limited", by: "user", retryAtMs: askedAtMs + 700_000 },
  { type: "limited", by: "channel", retryAtMs: askedAtMs + 700_000 },
  { type: "file_refused", why: "too_large", name: "a.zip", most: 20 * 1024 * 1024 },
  { type: "file_refused", why: "too_large", name: "a.zip" },
  { type: "file_refused", why: "too_many", name: "a.zip", most: 10 },
  { type: "file_refused", why: "too_many", name: "a.zip", most: 0 },
  { type: "file_refused", why: "too_many", name: "a.zip" },
  { type: "file_refused", why: "not_to_be_had", name: "a.zip" },
  { type: "file_refused", why: "not_to_be_had", name: "a.zip", detail: "hidden" },
  { type: "file_refused", why: "not_to_be_had", name: "Plan", detail: "canvas" },
  { type: "file_refused", why: "not_to_be_had", name: "Tasks", detail: "list" },
];

function say(outcome: Ended | undefined, locale: "en" | "ja" = "en", contact?: string): string {
  return createOutcomeText({ task: sampleTask(), outcome, locale, contact });
}

describe("the text of a failed task", () => {
  it.each(locales)(
    "explains a failure without codes, addresses or protocol names, in %s",
    (locale) => {
      for (const reason of everyReason) {
        const text = say(failWith(reason), locale);
        expect(text).toMatch(locale === "ja" ? /[ぁ-ん]/ : /^[\x20-\x7e\n]+$/);
        expect(text).not.toMatch(/\d|https?:|JSON|RPC|HTTP|exception|_/i);
      }
    },
  );

  it("distinguishes a task that was lost, one that may have run, and one that failed", () => {
    for (const locale of locales) {
      const texts = [
        failWith("execution_failed", true),
        failWith("ambiguous"),
        failWith("execution_failed"),
      ];
      expect(new Set(texts.map((outcome) => say(outcome, locale))).size).toBe(3);
    }
  });

  it("explains a missing outcome", () => {
    expect(say(undefined)).toMatch(/Something went wrong/);
  });
});

describe("the text of any other outcome", () => {
  it.each(locales)("writes a different text for every outcome, in %s", (locale) => {
    const texts = others.map((outcome) => say(outcome, locale));
    for (const text of texts) expect(text).toMatch(locale === "ja" ? /[ぁ-ん]/ : /^[\x20-\x7e]+$/);
    expect(new Set(texts).size).toBe(others.length);
  });

  it("names whom to ask for access, and mentions no command", () => {
    expect(say({ type: "refused" }, "en", "<@UADMIN>")).toBe(
      "You don't have access to me here yet. Ask <@UADMIN> to add you.",
    );
    for (const locale of locales) {
      expect(say({ type: "refused" }, locale, "<@UADMIN>")).toContain("<@UADMIN>");
      expect(say({ type: "refused" }, locale)).toMatch(/your admin|管理者/);
    }
    for (const outcome of others) expect(say(outcome)).not.toMatch(/npx|sekisho|--/);
  });

  it("names the configured contact, or else the first admin who is a person", () => {
    const admins = [{ group: "S1" }, { user: "U1" }, { user: "U2" }];
    expect(chooseContact({ contact: "Kim", admins })).toBe("Kim");
    expect(chooseContact({ contact: undefined, admins })).toBe("<@U1>");
    expect(chooseContact({ contact: undefined, admins: [{ group: "S1" }] })).toBeUndefined();
  });

  it("shows the time until the next task as a duration and in the time zone of the reader", () => {
    const outcome: Ended = { type: "limited", by: "user", retryAtMs: askedAtMs + 700_000 };
    expect(say(outcome)).toMatch(
      /in 12 minutes \(<!date\^1760000700\^\{date_short_pretty\} at \{time\}\|2025-10-09 09:05 UTC>\)/,
    );
    expect(say(outcome, "ja")).toMatch(/12分後（<!date\^1760000700\^/);
    expect(say({ ...outcome, retryAtMs: askedAtMs + 100 })).toMatch(/in 1 second /);
    expect(say({ ...outcome, retryAtMs: askedAtMs + 7_200_000 })).toMatch(/in 2 hours /);
    expect(say({ ...outcome, retryAtMs: askedAtMs - 1 })).toMatch(/in 1 second /);
  });

  it("names the maximum size of a file, rounded down", () => {
    const most = (bytes: number) =>
      say({ type: "file_refused", why: "too_large", name: "a.zip", most: bytes });
    expect(most(20 * 1024 * 1024)).toMatch(/20 MB/);
    expect(most(1.99 * 1024 * 1024)).toMatch(/1\.9 MB/);
    expect(most(1024 * 1024)).toMatch(/ 1 MB/);
    expect(most(2047)).toMatch(/ 1 KB/);
    expect(most(1024)).toMatch(/ 1 KB/);
    expect(most(10)).toMatch(/10 bytes/);
  });

  it("explains an unreadable message of a shortcut, and outsiders in the channel", () => {
    const about = { ts: "1.2", instruction: "" };
    const outcome = { type: "unreadable" } as const;
    const task = sampleTask({ message: { ...sampleTask().message, about } });
    expect(createOutcomeText({ task, outcome, locale: "en", contact: undefined })).toBe(
      "I couldn't read that message. It may have been deleted. Ask me in a new message.",
    );
    expect(say({ type: "refused", external: true })).toBe(
      "I can't help you here, because people from other organizations are in this channel. Ask your admin if you need me here.",
    );
  });

  it("names the maximum number of files", () => {
    const most = (count: number) =>
      say({ type: "file_refused", why: "too_many", name: "a.zip", most: count });
    expect(most(2)).toContain("up to 2 files at once.");
    expect(most(1)).toContain("up to 1 file at once.");
    expect(most(0)).toContain("I can't take files here.");
  });

  it("says that it cannot read a canvas instead of asking for it again", () => {
    const outcome = {
      type: "file_refused",
      why: "not_to_be_had",
      name: "Plan",
      detail: "canvas",
    } as const;
    expect(say(outcome)).toBe("I can't read canvases. Copy the text into your message.");
    expect(say(outcome, "ja")).toBe(
      "canvasは読み取れません。内容をメッセージに貼り付けてお送りください。",
    );
  });

  it("escapes the name of a file so that it notifies nobody", () => {
    const text = say({
      type: "file_refused",
      why: "not_to_be_had",
      name: "<!channel> `x` <@U1>.txt",
    });
    expect(text).toContain("`&lt;!channel&gt; 'x' &lt;@U1&gt;.txt`");
  });

  it("quotes the explanation of the agent, escaped and in one line", () => {
    const about = { type: "failed", reason: "execution_failed", lost: false } as const;
    const explainedOutcome = { ...about, explanation: "No <@U1> seats\nare left" };
    for (const locale of locales)
      expect(say(explainedOutcome, locale)).toMatch(/\n> ?No &lt;@U1&gt; seats are left$/);
    expect(say({ ...explainedOutcome, explanation: " " })).toBe(say(about));
  });

  it("says how many tasks a cancel request applies to", () => {
    for (const locale of locales)
      expect(
        new Set([0, 1, 2].map((count) => say({ type: "canceling", count }, locale))).size,
      ).toBe(3);
  });
});
