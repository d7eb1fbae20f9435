/** What the bot says about itself: the App Home, and the five lines of the help. */
import { describe, expect, it } from "@jest/globals";
import { parseBlocks } from "@sekisho/local/fake-slack/blocks.ts";
import { helpText } from "@sekisho/verification/slack/messages/help.ts";
import { homeBlocks } from "@sekisho/verification/slack/messages/home.ts";
import type { Overview, OwnTask } from "@sekisho/verification/slack/messages/overview.ts";
import type { Locale } from "@sekisho/verification/task/task.ts";
import { askedAtMs, sampleAsk } from "../../task/sample.ts";

const locales = ["en", "ja"] as const;
const { requestId } = sampleAsk();
const task: OwnTask = {
  requestId,
  text: "Deploy <it>",
  channel: "C7",
  askedAtMs,
  activity: "working",
};

const overview: Overview = {
  mayAsk: true,
  contact: "<@UADMIN>",
  description: "Deploys & checks",
  command: "/sekisho",
  prompts: [{ title: "News", message: "What is new?" }],
  routes: [
    { word: "data", destination: "analyst" },
    { channel: "C7", destination: "builder" },
    { destination: "general" },
  ],
  rules: [
    { team: "T1", label: "secret plan" },
    { channel: "C7" },
    { user: "U5", channel: "C8", external: "people" },
    { group: "S5" },
    { user: "U6", group: "S6", external: "channels" },
    { bot: "B5" },
  ],
  tasks: [task],
  hasMoreTasks: false,
  quota: { inPeriod: { left: 18, of: 20, spanMs: 3600_000 }, atOnce: { left: 2, of: 3 } },
};

function home(change: Partial<Overview> = {}, locale: Locale = "en") {
  return homeBlocks({ overview: { ...overview, ...change }, locale, nowMs: askedAtMs });
}

/** The texts of all blocks, one after the other. */
function textOf(blocks: readonly unknown[]): string {
  return JSON.stringify(blocks, (name, value) =>
    name === "value" || name === "action_id" ? undefined : value,
  );
}

function buttonsOf(blocks: ReturnType<typeof home>): unknown[] {
  return blocks.flatMap(({ accessory }) => (accessory === undefined ? [] : [accessory]));
}

describe("the App Home", () => {
  it.each([
    ["en", "Mention me in a channel, use `/sekisho`, or", "Mention me in a channel or"],
    ["ja", "ダイレクトメッセージ、または `/sekisho` コマンドで", "、またはダイレクトメッセージで"],
  ] as const)("names the command if there is one, in %s", (locale, commandText, generalText) => {
    expect(textOf(home({}, locale))).toContain(commandText);
    const without = textOf(home({ command: undefined }, locale));
    expect(without).toContain(generalText);
    expect(without).not.toContain("undefined");
  });

  it("shows what the bot can do, who may ask, what is running, and the remaining quota", () => {
    const text = textOf(home());
    for (const part of [
      "Deploys &amp; checks",
      "/sekisho",
      "Start your message with `data:` to ask *analyst*.",
      "In <#C7>, messages go to *builder*.",
      "Everything else goes to *general*.",
      "News: _What is new?_",
      "• Everyone in this workspace",
      "• Everyone in <#C7>",
      "• <@U5> in <#C8>, and people from other organizations in shared channels",
      "• <@U6> while in <!subteam^S6>, including in channels shared with other organizations",
      "• <!subteam^S5>",
      "Deploy &lt;it&gt;",
      "You can start up to 20 tasks in any 60 minutes. You have 18 left. You can have 3 tasks in progress at once, and you have 1 now.",
    ])
      expect(text).toContain(part);
  });

  it("hides the notes of admins and the rules for other bots", () => {
    const text = textOf(home());
    for (const part of ["secret plan", "B5"]) expect(text).not.toContain(part);
  });

  it("shows one cancel button per task, which names the task", () => {
    expect(buttonsOf(home())).toMatchObject([
      { action_id: "sekisho_cancel", value: JSON.stringify({ r: requestId }) },
    ]);
    expect(buttonsOf(home({ tasks: [{ ...task, activity: "canceling" }] }))).toEqual([]);
  });

  it.each(locales)(
    "names the admins to a person without access, and shows no rules, in %s",
    (locale) => {
      const text = textOf(home({ mayAsk: false, tasks: [] }, locale));
      expect(text).toContain("<@UADMIN>");
      for (const part of ["<@U5>", "<#C7>", "/sekisho"]) expect(text).not.toContain(part);
    },
  );

  it("lets a person who lost access cancel running tasks", () => {
    expect(buttonsOf(home({ mayAsk: false }))).toHaveLength(1);
  });

  it.each(locales)(
    "stays within the limits of Slack for any amount of content, in %s",
    (locale) => {
      const many = <T>(count: number, of: (n: number) => T) =>
        Array.from({ length: count }, (_, n) => of(n));
      const blocks = home(
        {
          description: "d".repeat(300),
          prompts: many(4, () => ({ title: "t".repeat(75), message: "*m* <x>".repeat(400) })),
          routes: many(500, (n) => ({
            word: `w${n}${"x".repeat(60)}`,
            channel: "C7",
            destination: "d".repeat(63),
          })),
          rules: many(1000, (n) => ({ user: `U${n}`, channel: "C8" })),
          tasks: many(50, () => ({ ...task, text: "<".repeat(5000) })),
        },
        locale,
      );
      expect(blocks.length).toBeLessThanOrEqual(100);
      expect(buttonsOf(blocks)).toHaveLength(10);
      expect(parseBlocks({ json: blocks, refusesMarkdown: false })).not.toHaveProperty("problem");
      expect(textOf(blocks)).toContain(locale === "en" ? "and 980 more" : "ほか980件");
    },
  );

  it("shows ten tasks, twenty rules and two routes without saying that there are more", () => {
    const rules = Array.from({ length: 20 }, (_, n) => ({ user: `U${n}` }));
    const text = textOf(
      home({
        tasks: Array.from({ length: 10 }, () => task),
        rules,
        routes: overview.routes.slice(1),
      }),
    );
    expect(text).toContain("In <#C7>, messages go to *builder*.");
    for (const rule of rules) expect(text).toContain(`<@${rule.user}>`);
    expect(text).not.toMatch(/There are more|and \d+ more/);
    expect(textOf(home({ tasks: Array.from({ length: 11 }, () => task) }))).toContain(
      "There are more",
    );
  });

  it("shows the App Home in Japanese", () => {
    const text = textOf(home({}, "ja"));
    expect(text).toContain("残り18件");
    expect(text).toContain(
      "<@U5>（<#C8> のみ、社外のメンバーがいるチャンネルでは、社外のメンバーも可）",
    );
  });
});

describe("the help", () => {
  const help = (change: Partial<Overview> = {}, locale: Locale = "en") =>
    helpText({ overview: { ...overview, ...change }, locale });

  it.each(locales)("writes the help in five lines, in %s", (locale) => {
    for (const change of [
      {},
      { tasks: [], rules: [], routes: [], prompts: [], quota: {}, description: undefined },
    ])
      expect(help(change, locale).split("\n")).toHaveLength(5);
  });

  it.each(locales)(
    "separates bold labels from text, because Slack would show the asterisks otherwise, in %s",
    (locale) => {
      for (const line of help({}, locale).split("\n")) expect(line).toMatch(/^\*[^*]+[:：]\* \S/);
    },
  );

  it("mentions no person and no group in the help, because that would notify them", () => {
    const rules = [{ user: "U5" }, { group: "S5" }, { channel: "C7" }];
    for (const locale of locales) expect(help({ rules }, locale)).not.toMatch(/<[@!]/);
    expect(help({ rules })).toContain(
      "Everyone in <#C7>, and people an admin has added. My Home tab has the list.",
    );
  });

  it("says that there are other channels without naming an admin", () => {
    const rules = ["C1", "C2", "C3", "C4"].map((channel) => ({ channel }));
    expect(help({ rules })).toContain(
      "Everyone in <#C1>, <#C2>, <#C3>, and everyone in some other channels.",
    );
    expect(help({ rules: rules.slice(0, 3) })).toContain("Everyone in <#C1>, <#C2>, <#C3>. My");
  });

  it("counts the running tasks without showing their texts", () => {
    expect(help()).toContain("1 in progress. See or cancel it in my Home tab.");
    expect(help()).not.toContain("Deploy &lt;it");
    expect(help({ hasMoreTasks: true })).toContain(
      "1 or more in progress. See or cancel them in my Home tab.",
    );
    expect(help({ tasks: [] })).toContain("You have none in progress.");
  });

  it("uses the singular for one task", () => {
    const quota = { inPeriod: { left: 1, of: 1, spanMs: 3600_000 }, atOnce: { left: 1, of: 1 } };
    expect(help({ quota })).toContain(
      "up to 1 task in any 60 minutes. You have 1 left. You can have 1 task in progress at once, and you have none now.",
    );
    const fullQuota = { inPeriod: { left: 0, of: 1, spanMs: 3600_000, freeAtMs: askedAtMs } };
    expect(help({ quota: fullQuota })).toContain("your limit of 1 task in 60 minutes.");
  });

  it("shows a limit of concurrent tasks if there is no other limit", () => {
    const text = help({ quota: { atOnce: { left: 1, of: 2 } } });
    expect(text).toContain("You can have 2 tasks in progress at once, and you have 1 now.");
  });

  it("says when the next task is possible once the limit is reached", () => {
    const quota = { inPeriod: { left: 0, of: 20, spanMs: 3600_000, freeAtMs: askedAtMs } };
    expect(help({ quota })).toMatch(
      /You've reached your limit of 20 tasks in 60 minutes\. You can ask again <!date/,
    );
    expect(help({ quota }, "ja")).toContain("上限の20件に達しています");
  });
});
