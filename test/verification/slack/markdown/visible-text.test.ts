import { describe, expect, it } from "@jest/globals";
import { decodeEntities } from "@sekisho/verification/slack/markdown/characters.ts";
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import {
  hasVisibleText,
  isNamingOtherAddress,
  shownAddress,
} from "@sekisho/verification/slack/markdown/visible-text.ts";
import { aboveText, emptyAnswerText } from "@sekisho/verification/slack/messages/outcome-text.ts";
import { noPromptText } from "@sekisho/verification/slack/messages/question.ts";
import { nextStreamPiece } from "@sekisho/verification/slack/messages/stream-piece.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { askedAtMs, sampleTask } from "../../task/sample.ts";
import { mrkdwnText, safeText } from "./as-text.ts";

const text = createTaskText({ locale: "en" });

const nothing: readonly (readonly [what: string, text: string])[] = [
  ["a mark that turns the direction", "\u202e"],
  ["zero-width characters", "\u200b\u200d\ufeff\u2060"],
  ["blanks of other kinds", "\u00a0\u3000\u2028\u2800"],
  ["an invisible letter", "\u3164"],
  ["only combining marks", "\u0301\u0302"],
  ["variation selectors", "\ufe0f\ufe0f"],
  ["a lone link definition", "[a]: http://x"],
  ["empty code fences", "```\n```\n".repeat(1500)],
  ["fences of blanks", "```\n \n\u200b\n```"],
  ["an HTML comment", "<!-- nothing -->"],
  ["an HTML comment over several messages", `<!-- ${"never shown ".repeat(2000)} -->`],
  ["an unclosed HTML comment", `<!-- ${"never shown\n\n".repeat(1000)}`],
  ["5,001 empty headings", "#\n".repeat(5001)],
  ["blanks as entities", "&nbsp;&#8203;&#x200B; &nbsp;"],
  ["blanks as named entities", "&zwnj;&shy;&ensp;&emsp;&thinsp;&zwj;&lrm;&rlm;&Tab;"],
  ["line breaks in HTML", "<br>\n<br/> <BR />"],
  ["an empty heading", "#"],
  ["empty list items", "- \n- \n* "],
  ["rules", "---\n\n***"],
  ["a table without cells", "| | |\n|-|-|\n| | |"],
  ["an empty quote", "> \n> "],
  ["a link without a label", "[]()"],
  ["an image without a description", "![]()"],
];

const something: readonly string[] = [
  ...[
    "a",
    "関所",
    "🏯",
    "42.",
    "**",
    "☑",
    "•",
    "~",
    "`",
    "────",
    "\\*",
    "?",
    "`x`",
    "```\nx\n```",
    "- x",
    "> x",
  ],
  ...["&amp;", "<b></b>", "https://example.com", "[x](https://example.com)", "| a |\n|-|\n| |"],
  ...["[](https://example.com)"],
  "![](https://example.com/a.png)",
  "[\u200b](https://example.com)",
];

describe("an invisible answer", () => {
  it.each(nothing)(
    "replaces an invisible answer with a notice, with and without blocks: %s",
    (_what, shown) => {
      for (const form of [{}, { mrkdwnFallback: true as const }]) {
        const task = sampleTask({
          outcome: { type: "answer", text: shown, artifacts: [{ text: "x" }] },
          ...form,
        });
        const [part, ...others] = text.parts(task);
        expect(others).toEqual([]);
        const inPlace = emptyAnswerText.en(1);
        expect(part?.text.startsWith(inPlace)).toBe(true);
        expect(JSON.stringify(part?.blocks ?? part?.text)).toContain(inPlace);
      }
    },
  );

  it("replaces an invisible answer with a notice after a retry too", () => {
    const task = sampleTask({
      outcome: { type: "answer", text: "\u202e" },
      retryOf: "7d1c2b3a",
      mrkdwnFallback: true,
    });
    const [part] = text.parts(task);
    expect(part?.text).toContain(`${aboveText({ task, locale: "en" })}\n${emptyAnswerText.en(0)}`);
  });

  it("replaces an invisible answer with a notice if it is long enough for a file", () => {
    const task = sampleTask({ outcome: { type: "answer", text: "\u200b ".repeat(40_000) } });
    expect(text.parts(task).map((part) => part.text)).toEqual([emptyAnswerText.en(1)]);
  });
});

describe("a text of Sekisho instead of an answer", () => {
  it("fits the notice into an edit, whatever the names of the failed files", () => {
    const artifacts = Array.from({ length: 20 }, (_, n) => ({
      name: `${"&".repeat(99)}${n}`,
      text: "x",
    }));
    const uploads = artifacts.map(() => ({ failed: true as const }));
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const task = sampleTask({
        outcome: { type: "answer", text: "", artifacts, uploads },
        ...form,
      });
      const [part] = text.parts(task);
      expect(part?.text.length).toBeLessThanOrEqual(4000);
      expect(JSON.stringify(part)).toContain("Reference");
    }
  });
});

describe("a visible answer", () => {
  it.each(something)("shows a visible answer: %s", (shown) => {
    expect(hasVisibleText(parseMarkdown(safeText(shown)))).toBe(true);
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const parts = text.parts(sampleTask({ outcome: { type: "answer", text: shown }, ...form }));
      expect(parts).toHaveLength(1);
      expect(parts[0]?.text).not.toContain(emptyAnswerText.en(0));
      // The answer itself, not only the reference below it.
      expect(parts[0]?.text).toMatch(/^(?!_Reference)\S/);
    }
  });

  it("hides a comment that is longer than a message", () => {
    const comment = `<!-- ${"never shown\n\n".repeat(2000)} -->`;
    const shown = `first\n\n${comment}\n\n> quoted ${comment.replaceAll("\n", " ")}\n\n\`<!-- code -->\` last`;
    const parts = text.parts(sampleTask({ outcome: { type: "answer", text: shown } }));
    expect(JSON.stringify(parts)).not.toContain("never shown");
    expect(JSON.stringify(parts)).toMatch(/first.*quoted.*<!-- code -->.*last/);
  });

  it("makes no message without visible text", () => {
    const shown = `first\n\n${"```\n```\n".repeat(4000)}\n\nlast`;
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const parts = text.parts(sampleTask({ outcome: { type: "answer", text: shown }, ...form }));
      expect(parts.length).toBeLessThanOrEqual(2);
      expect(parts[0]?.text).toMatch(/^first/);
      expect(parts.at(-1)?.text).toMatch(/last/);
    }
  });
});

describe("questions and progress", () => {
  it.each(nothing)(
    "replaces invisible text in questions and progress with a notice: %s",
    (_what, unseen) => {
      const question = {
        index: 0,
        prompt: unseen,
        options: [{ id: unseen, label: unseen }],
        askedAtMs,
        expiresAtMs: askedAtMs + 1000,
      };
      const asked = text.question({
        task: sampleTask({ state: "asking", question }),
        nowMs: askedAtMs,
      });
      expect(asked.text.startsWith(noPromptText.en)).toBe(true);
      const [, actions] = asked.blocks ?? [];
      expect(JSON.stringify(actions)).not.toMatch(/"text":"[\s\p{C}\p{M}\p{Z}\u3164\u2800]*"/u);
      const progress = { text: unseen, partialText: unseen, shownAtMs: askedAtMs };
      const { text: words, blocks = [] } = text.placeholder(
        sampleTask({ state: "waiting", progress }),
      );
      expect(words).toMatch(/\p{L}/u);
      expect(blocks.map(({ type }) => type)).not.toContain("markdown");
    },
  );
});

const target = "https://evil.example/login";

/** Labels by which a reader would expect another address. */
const hostile: readonly (readonly [what: string, label: string])[] = [
  ["an address", "https://bank.example"],
  ["a host", "bank.example"],
  ["a host within a sentence", "Please log in at bank.example now"],
  ["a Cyrillic letter", "https://b\u0430nk.example"],
  ["a host of Cyrillic letters", "\u0431\u0430\u043d\u043a.\u0440\u0444"],
  ["a Greek letter", "b\u03b1nk.example"],
  ["fullwidth letters", "\uff42\uff41\uff4e\uff4b\uff0eexample"],
  ["mathematical letters", "\u{1d41b}ank.example"],
  ["a combining mark", "ba\u0301nk.example"],
  ["a combining mark on the stop", "bank.\u0323example"],
  ["marks between all letters", [..."bank.example"].join("\u034f")],
  ["a zero-width space", "bank\u200b.example"],
  ["a soft hyphen", "bank\u00ad.\u00adexample"],
  ["a word joiner", "bank.\u2060example"],
  ["a blank in the scheme", "https ://bank"],
  ["a blank behind the scheme", "https: //bank"],
  ["blanks between the slashes", "https:/ /bank"],
  ["a line break in the scheme", "https:\n//bank"],
  ["blanks around the stop", "bank . example"],
  ["a blank before the stop", "bank .example"],
  ["a blank behind the stop", "bank. example"],
  ["a blank behind the stop, in capitals", "BANK. EXAMPLE"],
  ["quotes", '"bank.example"'],
  ["quotes within", 'bank"."example'],
  ["typographic quotes", "\u201cbank.example\u201d"],
  ["brackets around the stop", "bank(.)example"],
  ["a trailing stop", "bank.example."],
  ["a trailing colon", "bank.example:"],
  ["a port", "bank.example:443"],
  ["a user", "support@bank.example"],
  ["a user name before a host", "user@bank"],
  ["the target as a user", "https://evil.example@bank.example"],
  ["the target as a user, in capitals", "evil.example@bank"],
  ["another scheme", "ftp://bank"],
  ["a scheme of an app", "slack:open"],
  ["a mail", "mailto:bank"],
  ["another top-level domain", "bank.zip"],
  ["a long top-level domain", "bank.technology"],
  ["a domain of many names", "a.b.c.d.bank.museum"],
  ["a domain in punycode", "xn--bnk-5cd.example"],
  ["the target's name in another script", "https://\u0435vil.example/login"],
  ["the target's name below another", "evil.example.bank.example"],
  ["an IP address", "192.0.2.10"],
  ["an ideographic stop", "bank\u3002example"],
  ["an ideographic stop among capitals", "BANK\u3002COM"],
  ["a middle dot", "bank\u00b7example"],
  ["an Arabic stop", "bank\u06d4example"],
  ["a halfwidth stop", "bank\uff61example"],
  ["a division slash", "bank.example\u2215login"],
  ["fraction slashes without a scheme", "\u2044\u2044bank"],
  ["backslashes", "https:\\\\\\\\bank"],
  ["emphasis within", "**bank**.example"],
  ["code", "`bank.example`"],
  ["a tag within", "bank.<b></b>example"],
  ["numeric entities", "bank&#46;example"],
  ["a named entity", "bank&period;example"],
  ["an unknown entity", "bank&centerdot;example"],
  ["the target and another", "https://evil.example or https://bank.example"],
  ["another path of the target", "https://evil.example/account"],
  ["the beginning of a name in the path", "evil.example/log"],
  ["a file with a stop in its name", "bank.com.pdf"],
  ["a mention", "@bank"],
  ["a name with a digit behind the stop", "bank.1com"],
  ["a currency for a letter", "bank.\u00a2om"],
  ["a blank behind the stop and a capital", "bank. Com"],
  ["a blank behind the stop and a long name", "Log in at bank. Online now"],
  ["two stops", "bank..com"],
  ["a Katakana middle dot", "bank\u30fbcom"],
  ["a halfwidth middle dot", "bank\uff65com"],
  ["a sinological dot", "bank\ua78fcom"],
  ["a Korean middle dot", "bank\u318dcom"],
  ["a Canadian middle dot", "bank\u1427com"],
  ["a Canadian letter with a dot", "bank\u147fom"],
  ["a dot of an unlisted script", "bank\u{1bc9f}com"],
  ["a Tibetan dot", "bank\u0f0bcom"],
  ["a circle", "bank\u25cfcom"],
  ["an emoji", "bank\u{1f534}com"],
  ["a character for private use", "bank\ue000com"],
  ["a spacing dot above", "bank\u02d9com"],
  ["a dot below a thin blank", "bank\u200a\u0323com"],
  ["a dot below a zero-width space", "bank\u200b\u0323com"],
  ["a Japanese iteration mark for a dot", "bank\u30fdcom"],
  ["a Korean tone mark for a dot", "bank\u302ecom"],
  ["a spacing mark of another script", "bank\u0d02com"],
  ["a spacing mark behind an accent", "ban\u0301\u0d02com"],
  ["a numeral of another script for a dot", "bank\u{1d2e1}com"],
  ["a shorthand letter for a dot", "bank\u{1bc00}com"],
  ["letters in circles", "\u{1f151}\u{1f150}\u{1f15d}\u{1f15a}.\u{1f152}\u{1f15e}\u{1f15c}"],
  ["an IP address within a sentence", "\u8a73\u7d30\u306f192.0.2.10\u3092"],
  ["an IP address and a stop", "192.0.2.10."],
  ["an invisible note", "bank.\u{1d159}com"],
  ["an unassigned character", "bank.\u0378com"],
  ["an invisible vowel", "bank.\u17b4com"],
  ["a variation selector", "bank.\u{e0100}com"],
  ["a Hangul filler", "bank.\u3164com"],
  ["a file whose ending is a domain", "Foo.java"],
  ["another one", "README.md"],
  ["a sentence", "Read this first. Then go on"],
];

describe("a misleading label", () => {
  it.each(hostile)(
    "shows the address beside a misleading label in every place: %s",
    (_what, label) => {
      const markdown = `See [${label}](${target}) now`;
      const shown = /(?<!\]\(|<)https:\/\/evil\.example\/login(?!\|)/;
      const safe = safeText(markdown);
      expect(safe).not.toContain("](");
      expect(safe).toMatch(shown);
      expect(mrkdwnText(markdown)).not.toMatch(/\|[^<>]*>/);
      for (const text of placesOf(markdown)) {
        expect(text).not.toMatch(/\]\(https:|<https:[^<>]*\|/);
        expect(text).toContain("https://evil.example/login");
      }
    },
  );

  it("detects a misleading label whatever is done to its letters and signs", () => {
    const host = fc.constantFrom(
      "bank.example",
      "www.bank.example",
      "https://bank",
      "bank.co.uk/login",
      "user@bank.example",
    );
    const unseen = fc.constantFrom(
      "\u200b",
      "\u00ad",
      "\u2060",
      "\u0301",
      "\ufe0f",
      "\u034f",
      "**",
      "`",
    );
    const changes = fc.array(
      fc.tuple(
        fc.nat(30),
        fc.oneof(
          unseen.map((sign) => (letter: string) => letter + sign),
          fc.constant((letter: string) =>
            letter.replace(/./gu, (sign) => `&#${sign.codePointAt(0)};`),
          ),
          fc.constant((letter: string) =>
            letter.replace(".", "\u3002").replace("a", "\u0430").replace(":", "\uff1a"),
          ),
          fc.constant((letter: string) => letter.replace(/[.:/]/, " $&")),
        ),
      ),
      { maxLength: 6 },
    );
    forAll(
      host,
      changes,
      fc.constantFrom("", "Go to ", "「"),
      fc.constantFrom("", ".", ":", " now", "」"),
    ).hold((name, all, before, after) => {
      const letters = [...name];
      for (const [at, change] of all) {
        const index = at % letters.length;
        letters[index] = change(letters[index] ?? "");
      }
      const label = decodeEntities(`${before}${letters.join("")}${after}`);
      expect(isNamingOtherAddress({ label, address: target })).toBe(true);
    }, 1000);
  });

  it("shows the real host of an address with Markdown, a user name or foreign letters", () => {
    expect(shownAddress("https://b\u0430nk.example/a")).toBe("https://xn--bnk-6cd.example/a");
    expect(shownAddress("https://bank.example@evil.example/a")).toBe("https://evil.example/a");
    expect(shownAddress("https://evil.example/[a](b)|`c`*d*<e>")).not.toMatch(/[[\]|`*<>]/);
    expect(safeText("[bank.example](https://b\u0430nk.example)")).toBe(
      "bank.example (https://xn--bnk-6cd.example/)",
    );
    expect(mrkdwnText("[bank.example](https://b\u0430nk.example)")).toBe(
      "bank.example (<https://xn--bnk-6cd.example/>)",
    );
  });
});

describe("a label that names no other address", () => {
  it.each([
    ["the report", target],
    ["1. Overview", target],
    ["Step 2. Start", target],
    ["v1.2.3-rc1", target],
    ["サーバー・ログ", target],
    ["설정·관리", target],
    ["A→B", target],
    ["\u{1f680} Deploy", target],
    ["1\ufe0f\u20e3Setup", target],
    ["don\u2019t", target],
    ["Vi\u1ec7t Nam \u1ea1", target],
    ["設定の手順", target],
    ["学問のすヽめ", target],
    ["いすヾ自動車", target],
    ["മലയാളം", target],
    ["設定の手順。", target],
    ["v1.2.3 notes", target],
    ["10:30 meeting", target],
    ["Note: a change", target],
    ["AT&T", target],
    ["index.html", target],
    ["the file package.json, changed", target],
    ["evil.example", target],
    ["https://evil.example", target],
    ["https://evil.example/login", target],
    ["www.evil.example/log…", target],
    ["See https://evil.example/login.", target],
    ["somebody@evil.example", "mailto:somebody@evil.example"],
    ["C++ and C#", target],
    ["1 / 2", target],
    ["and/or", target],
  ])("keeps a label that names no other address: %s", (label, address) => {
    expect(isNamingOtherAddress({ label, address })).toBe(false);
  });
});

/** The same Markdown as an answer, with blocks and without, as it is written, streamed, and asked. */
function placesOf(markdown: string): string[] {
  const { parts, placeholder, question } = createTaskText({ locale: "en" });
  const asked = {
    index: 0,
    prompt: markdown,
    options: [],
    askedAtMs,
    expiresAtMs: askedAtMs + 1000,
  };
  const contents = [{}, { mrkdwnFallback: true as const }].flatMap((form) => [
    ...parts(sampleTask({ outcome: { type: "answer", text: markdown }, ...form })),
    placeholder(
      sampleTask({
        state: "waiting",
        progress: { partialText: markdown, shownAtMs: askedAtMs },
        ...form,
      }),
    ),
    question({ task: sampleTask({ state: "asking", question: asked, ...form }), nowMs: askedAtMs }),
  ]);
  const piece = nextStreamPiece({ text: `${markdown}\n`, from: 0, shows: undefined });
  const shown = contents.map(({ text, blocks }) => JSON.stringify(blocks ?? text));
  return [...shown, ...(piece.type === "piece" ? [piece.markdown] : [])];
}
