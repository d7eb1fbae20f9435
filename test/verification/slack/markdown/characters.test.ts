import { describe, expect, it } from "@jest/globals";
import { unescapeMrkdwn } from "@sekisho/verification/slack/context/mrkdwn.ts";
import { escapeMrkdwn } from "@sekisho/verification/slack/markdown/characters.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";

describe("an agent's text in Slack", () => {
  it.each([
    "<!channel>",
    "<!here>",
    "<!everyone>",
    "<@U012AB3CD>",
    "<!subteam^S012>",
    "<https://evil.example|your bank>",
  ])("escapes %s so that Slack does not interpret it", (text) => {
    expect(escapeMrkdwn(text)).not.toMatch(/[<>]/);
  });

  it("keeps formatting and plain URLs", () => {
    const text = "*bold* _italic_ `code` https://example.com/a?b=c\n- item";
    expect(escapeMrkdwn(text)).toBe(text);
  });

  it("restores the original text when it is unescaped", () => {
    forAll(fc.string()).hold((text) => unescapeMrkdwn(escapeMrkdwn(text)) === text);
    expect(unescapeMrkdwn(escapeMrkdwn("&lt;"))).toBe("&lt;");
  });
});
