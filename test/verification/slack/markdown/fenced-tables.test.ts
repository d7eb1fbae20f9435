import { describe, expect, it } from "@jest/globals";
import { fencedTables } from "../../../../lambdas/verification/slack/markdown/mrkdwn.ts";
import { maxMarkdownLength, splitAnswer } from "../../../../lambdas/verification/slack/messages/split.ts";

const table = (name: string, rows = 1) =>
  [`| ${name} | n |`, "|---|---|", ...Array.from({ length: rows }, (_, row) => `| a | ${row} |`)].join("\n");
const rule = /^\|---\|---\|$/gm;

describe("tables in an answer", () => {
  it("stay as they are where there is one", () => {
    const text = `Look:\n\n${table("gate")}\n\nDone.`;
    expect(fencedTables(text)).toBe(text);
  });

  it("are one to a message, since Slack draws no more; the others stand in fences", () => {
    const text = fencedTables([table("gate"), "between", table("road"), table("post")].join("\n\n"));
    expect(text.match(rule)).toHaveLength(1);
    expect(text).toContain("| gate | n |");
    expect(text).toContain("```\nroad | n\n-----+----\na    | 0\n```");
  });

  it("are one to a message in an answer of many messages too", () => {
    const prose = "A sekisho was a checkpoint on a highway. ".repeat(60);
    const text = Array.from({ length: 20 }, (_, index) => `${prose}\n\n${table(`t${index}`, 30)}`).join("\n\n");
    const parts = splitAnswer({ text: fencedTables(text), maxLength: maxMarkdownLength });
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) expect((part.match(rule) ?? []).length).toBeLessThanOrEqual(1);
    expect(parts.join("\n").match(rule)?.length).toBeGreaterThan(1);
  });

  it.each([
    ["more than a hundred rows", table("gate", 100)],
    ["more than twenty columns", `|${"a|".repeat(21)}\n|${"-|".repeat(21)}\n|${"b|".repeat(21)}`],
    ["more than ten thousand characters", `${table("gate")}\n| ${"x".repeat(9_500)} | 1 |`],
  ])("stand in a fence with %s", (_, text) => {
    expect(fencedTables(text)).toMatch(/^```\n/);
  });

  it("stand in a fence where a row has more cells than the header, and lose none", () => {
    expect(fencedTables("| a | b |\n|---|---|\n| 1 | 2 | third | [x](https://c.d) |\n| 3 |")).toBe(
      "```\na   | b\n----+----\n1   | 2   | third | x\n3\n```",
    );
    const empty = "| a | b |\n|---|---|\n| 1 | 2 | |\n| 1 | 2 ||";
    expect(fencedTables(empty)).toBe(empty);
  });

  it("leave alone what only looks like one, or stands in code", () => {
    for (const text of ["a | b", "```\n| a |\n|---|\n```", "> | a |\n> |---|"]) {
      const twice = `${table("gate")}\n\n${text}`;
      expect(fencedTables(twice)).toBe(twice);
    }
  });

  it("grow no more than their text does", () => {
    const text = `${table("first")}\n\n| a | b |\n|---|---|\n| ${"x".repeat(5000)} | y |\n${"| z | z |\n".repeat(500)}`;
    expect(fencedTables(text).length).toBeLessThan(text.length * 10);
  });
});
