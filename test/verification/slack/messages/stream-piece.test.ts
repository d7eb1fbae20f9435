import { describe, expect, it } from "@jest/globals";
import {
  findPieceEnd,
  nextStreamPiece,
  type StreamContent,
  type StreamPiece,
} from "@sekisho/verification/slack/messages/stream-piece.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { safeText } from "../markdown/as-text.ts";

/** What one message of Slack has in the end, and whether the stream went on to it; `texts` are what the agent tells at each poll. */
function stream(texts: readonly string[]): {
  shown: string;
  pieces: string[];
  isBroken: boolean;
  end: number;
} {
  const pieces: string[] = [];
  let shows: StreamContent | undefined;
  let end = 0;
  for (const text of texts) {
    const piece: StreamPiece = nextStreamPiece({ text, from: end, shows });
    if (piece.type === "broken") return { shown: pieces.join(""), pieces, isBroken: true, end };
    if (piece.type === "none") continue;
    pieces.push(piece.markdown);
    ({ shows, end } = piece);
  }
  return { shown: pieces.join(""), pieces, isBroken: false, end };
}

const growing = (text: string, step = 1) =>
  Array.from({ length: Math.ceil(text.length / step) }, (_, index) =>
    text.slice(0, (index + 1) * step),
  );

describe("a streamed text", () => {
  it("streams whole lines, and whole words of the last line", () => {
    const { pieces } = stream([
      "A se",
      "A sekisho wa",
      "A sekisho was a\ncheckpoint",
      "A sekisho was a\ncheckpoint.\n",
    ]);
    expect(pieces).toEqual(["A ", "sekisho ", "was a\n", "checkpoint.\n"]);
    expect(
      stream(["箱根の関", "箱根の関所は、街道に", "箱根の関所は、街道にありました。"]).pieces,
    ).toEqual(["箱根の関所は、", "街道にありました。"]);
  });

  it.each([
    [
      "a mention",
      ["See <", "See <!channel> and ", "See <!channel> and more "],
      "See <\u2060!channel> and more ",
    ],
    [
      "a disguised link",
      [
        "See [https://bank.example",
        "See [https://bank.example](https://e",
        "See [https://bank.example](https://evil.example) ",
      ],
      "See https://bank.example (https://evil.example) ",
    ],
    ["a fence", ["``", "```", "```ts\ncon", "```ts\nconst"], "```ts\n"],
    [
      "the row of a table",
      ["| a | b |\n|---|", "| a | b |\n|---|---|\n| 1 ", "| a | b |\n|---|---|\n| 1 | 2 "],
      "| a | b |\n|---|---|\n",
    ],
    ["code", ["Run `rm -rf [a] ", "Run `rm -rf [a] b` now "], "Run `rm -rf [a] b` now "],
    ["bold text", ["Take **care of ", "Take **care of it** now "], "Take **care of it** now "],
  ])("never ends a piece within %s", (_, texts, pieces) => {
    expect(stream(texts)).toMatchObject({ shown: pieces, isBroken: false });
  });

  it("never cuts a character in half, even in a text without blanks", () => {
    const { pieces, isBroken } = stream([
      `a${"😀".repeat(9000)}`,
      `a${"😀".repeat(9000)}`,
      `a${"😀".repeat(9001)}`,
    ]);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(isBroken).toBe(false);
  });

  it("stops streaming when the agent rewrites its text or when new text changes what is already shown", () => {
    expect(stream(["One thing. ", "Another thing. And more. "])).toMatchObject({
      shown: "One thing. ",
      isBroken: true,
    });
    expect(stream(["One thing. ", "One thing. "])).toMatchObject({
      shown: "One thing. ",
      isBroken: false,
    });
    expect(stream(["One thing. And more. ", "One "])).toMatchObject({ isBroken: true });
    const referred = "[https://bank.example][1] is open\n";
    expect(stream([referred, `${referred}\n[1]: https://evil.example\n`])).toMatchObject({
      shown: referred,
      isBroken: true,
    });
  });

  it("shows safe Markdown in each message, wherever the agent's text ends for the moment", () => {
    const piece = fc.constantFrom(
      ...[
        "<",
        "!channel>",
        "@U1>",
        "[",
        "](",
        ")",
        "https://bank.example",
        "https://evil.example",
        "|",
        "`",
      ],
      ...["```\n", "**"],
      ...[
        "\n",
        "\n\n",
        " ",
        "word ",
        "関所。",
        "「",
        "😀",
        "\ud83d",
        "- ",
        "> ",
        "[1]: https://evil.example\n\n",
      ],
    );
    const texts = fc.tuple(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 20 }));
    forAll(texts).hold(([pieces, step]) => {
      const text = pieces.join("");
      const { shown, end } = stream(growing(text, step));
      expect(shown).toBe(safeText(text.slice(0, end)));
    }, 500);
  });

  it("stops holding text back after 1500 characters", () => {
    const text = `[${"a ".repeat(2000)}`;
    expect(findPieceEnd({ text: text.slice(0, 1500), from: 0 })).toBe(0);
    expect(findPieceEnd({ text: text.slice(0, 1501), from: 0 })).toBe(1501);
    expect(findPieceEnd({ text, from: 0 })).toBe(text.length);
  });

  it("holds back the end of a link until it is complete if its beginning is already shown", () => {
    const shownText = `${"a".repeat(1480)}[b ${"c ".repeat(20)}`;
    const from = shownText.length;
    expect(findPieceEnd({ text: shownText, from: 0 })).toBe(from);
    expect(findPieceEnd({ text: `${shownText}d `, from })).toBe(from);
    const closedText = `${shownText}d](https://a.example) `;
    expect(findPieceEnd({ text: closedText, from })).toBe(closedText.length);
  });
});

describe("the next message of a streamed text", () => {
  it("begins a further message with the text not shown yet and reopens its code fence", () => {
    const text = "Look:\n```ts\nconst a = 1;\n[https://bank.example](https://evil.example)\n";
    const from = text.indexOf("[");
    expect(nextStreamPiece({ text, from, shows: undefined })).toMatchObject({
      type: "piece",
      markdown: "```ts\n[https://bank.example](https://evil.example)\n",
      end: text.length,
    });
  });

  it("makes a further message safe by itself, even if it began inside code", () => {
    const text = "``code\n[https://bank.example](https://evil.example)\n";
    expect(nextStreamPiece({ text, from: 7, shows: undefined })).toMatchObject({
      markdown: "https://bank.example (https://evil.example)\n",
    });
  });

  it("continues the code that a further message began with", () => {
    const text = "```\n1\n2\n3\n";
    const first = nextStreamPiece({ text: text.slice(0, -2), from: 6, shows: undefined });
    if (first.type !== "piece") throw new Error(first.type);
    expect(first.markdown).toBe("```\n2\n");
    expect(nextStreamPiece({ text, from: first.end, shows: first.shows })).toMatchObject({
      markdown: "3\n",
    });
  });
});
