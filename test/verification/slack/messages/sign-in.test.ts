/** Texts of a question with a link to sign in, and of one that says who may answer. */
import { describe, expect, it } from "@jest/globals";
import { parseBlocks } from "@sekisho/local/fake-slack/blocks.ts";
import { parseView } from "@sekisho/local/fake-slack/views.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { AgentQuestion, Locale } from "@sekisho/verification/task/task.ts";
import { askedAtMs, sampleTask } from "../../task/sample.ts";

const question: AgentQuestion = {
  ...{ index: 0, prompt: "Deploy?", askedAtMs, expiresAtMs: askedAtMs + 600_000 },
  options: [
    { id: "go", label: "Deploy" },
    { id: "no", label: "Leave it", style: "danger" },
  ],
};
const locales = ["en", "ja"] as const;

const taskOf = (changes: Partial<AgentQuestion>, mrkdwnFallback?: true) =>
  sampleTask({
    ...{ state: "asking", question: { ...question, ...changes } },
    ...(mrkdwnFallback && { mrkdwnFallback }),
  });
const show = (changes: Partial<AgentQuestion>, locale: Locale = "en", nowMs = askedAtMs) =>
  createTaskText({ locale }).question({ task: taskOf(changes), nowMs });

function openModal(url: string, locale: Locale = "en", prompt = "Sign in to the *tracker*.") {
  const task = taskOf({ prompt, options: [], kind: "auth", signIn: { url } });
  const view = createTaskText({ locale }).questionModal({ task, locale });
  const result = parseView(JSON.parse(JSON.stringify(view)));
  if ("problem" in result) throw new Error(result.problem);
  return JSON.stringify(result.view.blocks);
}

describe("the modal with a link to sign in", () => {
  it.each([
    ["https://login.example/start?next=https://bank.example/", "*login.example*"],
    ["https://bank.example.evil.example/bank.example", "*bank.example.evil.example*"],
    ["https://login.example:8443/", "*login.example:8443*"],
    ["https://[2001:db8::1]/", "*[2001:db8::1]*"],
    ["https://0x7f.1/", "*127.0.0.1*"],
    ["https://LOGIN.example/", "*login.example*"],
    ["https://xn--pple-43d.example/", "*xn--pple-43d.example*"],
  ])("names the host that %s leads to", (url, host) => {
    expect(openModal(url)).toContain(`leads to ${host}.`);
  });

  it.each(locales)("warns of a host in another script, and of no other host: %s", (locale) => {
    expect(openModal("https://xn--pple-43d.example/", locale)).toContain("⚠️");
    expect(openModal("https://a-xn--pple.example/xn--pple-43d", locale)).not.toContain("⚠️");
  });

  it("has the longest link, and none once it is erased", () => {
    const url = `https://login.example/${"x".repeat(2978)}`;
    expect(url).toHaveLength(3000);
    expect(openModal(url)).toContain(`"url":"${url}"`);
    const task = taskOf({ options: [], kind: "auth", signIn: {} });
    expect(createTaskText({ locale: "en" }).questionModal({ task, locale: "en" })).toBeUndefined();
  });

  it("shows the words of the agent, with the targets of their links", () => {
    const words = "Read [bank.example](https://evil.example) <!channel>";
    expect(openModal("https://login.example/", "en", words)).toMatch(
      /evil\.example(?!.*<!channel>)/,
    );
    expect(openModal("https://login.example/", "en", "\u200B")).toContain("needs your answer");
  });
});

describe("the message of a question with a link to sign in", () => {
  const signIn = {
    options: [],
    kind: "auth" as const,
    signIn: { url: "https://a.example/hunter2" },
  };
  const secretPrompt = "Go to https://a.example/hunter2";

  it.each(locales)(
    "has nothing of the link and the agent's words, however it ends: %s",
    (locale) => {
      const answer = { user: "U1", atMs: askedAtMs, signedIn: true as const, callId: "c" };
      for (const content of [
        show({ ...signIn, prompt: secretPrompt }, locale),
        show({ ...signIn, prompt: secretPrompt }, locale, askedAtMs + 700_000),
        show({ ...signIn, prompt: secretPrompt, answer }, locale),
      ]) {
        expect(parseBlocks({ json: content.blocks, refusesMarkdown: false })).toHaveProperty(
          "blocks",
        );
        expect(JSON.stringify(content)).not.toMatch(/hunter2|a\.example/);
      }
    },
  );

  it("keeps its button where Slack refuses other blocks", () => {
    const content = createTaskText({ locale: "en" }).question({
      task: taskOf(signIn, true),
      nowMs: askedAtMs,
    });
    expect(content.blocks?.map(({ type }) => type)).toEqual(["section", "actions", "context"]);
  });
});

describe("the rules of a question", () => {
  const group = { group: "S1" };

  it.each<[Partial<AgentQuestion>, string]>([
    [{ answerers: "asker", answerBy: "anyone" }, "Only <@U1> can answer."],
    [{ answerers: "anyone", answerBy: "asker" }, "Only <@U1> can answer."],
    [{ answerers: "anyone", answerBy: "anyone" }, "Anyone who can ask here can answer."],
    [{ answerers: "anyone", answerBy: group }, "Members of <!subteam^S1> can answer."],
    [{ answerers: group, answerBy: "anyone" }, "Members of <!subteam^S1> can answer."],
    [
      { answerers: { group: "S2" }, answerBy: group },
      "Members of <!subteam^S1> and <!subteam^S2> can answer.",
    ],
    [
      { answerers: group, answerBy: "asker" },
      "Only <@U1> can answer, as a member of <!subteam^S1>.",
    ],
    [
      { answerers: "not-asker", answerBy: group },
      "Members of <!subteam^S1> can answer, except <@U1>.",
    ],
  ])("tells people who may answer: %j", (rules, text) => {
    const content = show(rules);
    expect(content.text).toContain(text);
    expect(JSON.stringify(content.blocks)).toContain(text);
    expect(parseBlocks({ json: content.blocks, refusesMarkdown: false })).toHaveProperty("blocks");
  });

  it("has no line for a question without rules", () => {
    expect(show({}).text).not.toMatch(/can answer|must agree/);
  });

  it.each(locales)("names for each option who has approved it: %s", (locale) => {
    const options = [
      { id: "a", label: "Blue *one*" },
      { id: "b", label: "Green" },
    ];
    const given = [
      { user: "U2", atMs: 1, option: 0 },
      { user: "U3", atMs: 2, option: 1 },
      { user: "U4", atMs: 3, option: 0 },
    ];
    const content = show(
      { options, answerers: "anyone", answerBy: "anyone", approvals: { needed: 3, given } },
      locale,
    );
    const lines = content.text.split("\n").filter((line) => line.includes("<@"));
    expect(lines).toEqual([
      expect.stringMatching(
        /^\*Blue .one.\* — .*3.*2.*<@U2> さん、<@U4> さん$|^\*Blue .one.\* — 2 of 3/,
      ),
      expect.stringContaining("<@U3>"),
    ]);
  });

  it.each([
    ["en", /2 people must agree\. One alone can choose \*Leave it\*\./, "Too few people agreed"],
    ["ja", /2人の同意が必要です。\*Leave it\* は1人でも選べます。/, "同意が得られませんでした"],
  ] as const)(
    "says what one alone may choose, and that too few agreed: %s",
    (locale, rule, end) => {
      const given = [{ user: "U2", atMs: 1, option: 0 }];
      const rules = { answerBy: "anyone" as const, approvals: { needed: 2, given } };
      expect(show(rules, locale).text).toMatch(rule);
      expect(show(rules, locale, askedAtMs + 700_000).text).toContain(end);
      const nobody = { ...rules, approvals: { needed: 2, given: [] } };
      expect(show(nobody, locale, askedAtMs + 700_000).text).not.toContain(end);
      const safe = { ...rules, options: [{ id: "go", label: "Deploy" }] };
      expect(show(safe, locale).text).not.toMatch(/alone|1人でも/);
    },
  );

  it.each(locales)("keeps within Slack's lengths, however many have approved: %s", (locale) => {
    const options = Array.from({ length: 20 }, (_, index) => ({
      id: String(index),
      label: "<&>".repeat(25),
    }));
    const given = Array.from({ length: 180 }, (_, index) => ({
      ...{ user: `U${index}`.padEnd(11, "0"), atMs: 1, option: index % 20 },
    }));
    const rules = { options, answerBy: "anyone" as const, approvals: { needed: 10, given } };
    for (const nowMs of [askedAtMs, askedAtMs + 700_000]) {
      const { text, blocks } = show({ ...rules, prompt: "word ".repeat(2000) }, locale, nowMs);
      expect(parseBlocks({ json: blocks, refusesMarkdown: false })).toHaveProperty("blocks");
      expect(JSON.stringify(blocks)).toMatch(/<@U0{10}>/);
      for (const shown of [text, JSON.stringify(blocks)]) expect(shown).not.toMatch(/<@\w*[^\w>]/);
    }
  });
});
