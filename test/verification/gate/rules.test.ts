/** The allowlist's rules by themselves. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import type { AllowlistRule } from "@sekisho/config/schema.ts";
import { configFields } from "@sekisho/config/schema.ts";
import {
  createPolicy,
  matchRules as matchRulesAnywhere,
  noStoredRules,
  parseReadableRules,
  parseStoredRules,
  type Requester,
} from "@sekisho/verification/gate/rules.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { sampleAsk } from "../task/sample.ts";

const matchRules = <Rule extends AllowlistRule>(request: {
  rules: readonly Rule[];
  requester: Requester;
}) => matchRulesAnywhere({ ...request, hasManyWorkspaces: false });
const requester = { team: "T1", channel: "C1", user: "U1" };
const slackId = fc.constantFrom("T1", "C1", "U1", "X1");
const anyRule = fc.record(
  { team: slackId, channel: slackId, user: slackId, group: slackId },
  { requiredKeys: [] },
);
const letsIn = (...rules: AllowlistRule[]) => matchRules({ rules, requester }).rule !== undefined;

/** Whether a member of every group would be let in. */
const couldLetIn = (...rules: AllowlistRule[]) =>
  letsIn(...rules) || matchRules({ rules, requester }).byGroup.length > 0;

describe("the allowlist", () => {
  it("lets nobody in if the allowlist is empty", () => {
    expect(matchRules({ rules: [], requester })).toEqual({ rule: undefined, byGroup: [] });
  });

  it("lets nobody in by a rule that has only a label", () => {
    expect(couldLetIn({}, { team: undefined, group: undefined }, { label: "all of us" })).toBe(
      false,
    );
  });

  it("refuses a configured rule with a misspelt field, which would match too many people", () => {
    const parse = (rule: unknown) => configFields.safeParse({ allowlist: [rule] }).success;
    const rules = [{ team: "T1", user: "U1" }, { team: "T1", usr: "U1" }, {}, { label: "x" }];
    expect(rules.map(parse)).toEqual([true, false, false, false]);
  });

  it("refuses a stored rule that has an unknown field or no field at all", () => {
    const parse = (rule: unknown) => () =>
      parseStoredRules({ ...noStoredRules(), rules: [{ rule, number: 1, addedAtMs: 0 }] });
    expect(parse({ team: "T1", group: "S1", label: "x" })().rules).toHaveLength(1);
    for (const rule of [{ team: "T1", role: "guest" }, {}, { label: "x" }, { team: "" }]) {
      expect(parse(rule)).toThrow();
    }
  });

  it("lets a bot in only by a rule that names it, and a person by no such rule", () => {
    const bot = { ...requester, user: "B2", botIds: ["B2", "A2"] };
    const rulesFor = (who: typeof requester, ...rules: AllowlistRule[]) =>
      matchRules({ rules, requester: who });
    for (const rule of [{ bot: "B2" }, { bot: "A2", channel: "C1" }]) {
      expect([rulesFor(bot, rule).rule, rulesFor(requester, rule).rule]).toEqual([rule, undefined]);
    }
    for (const rule of [
      { team: "T1" },
      { user: "B2" },
      { bot: "B3" },
      { bot: "A2", channel: "C2" },
    ]) {
      expect(rulesFor(bot, rule).rule).toBeUndefined();
    }
    expect(rulesFor(bot, { group: "S1" }).byGroup).toEqual([]);
  });

  it.each([
    [undefined, [true, true, true]],
    ["channels" as const, [false, true, true]],
    ["people" as const, [false, false, true]],
  ])(
    "applies only rules that cover the readers of other organizations: %s",
    (external, ruleIndex) => {
      const rules: AllowlistRule[] = [
        { team: "T1" },
        { team: "T1", external: "channels" },
        { team: "T1", external: "people" },
      ];
      const matches = rules.map(
        (rule) => matchRules({ rules: [rule], requester: { ...requester, external } }).rule,
      );
      expect(matches.map((rule) => rule !== undefined)).toEqual(ruleIndex);
      const byGroup = rules.map(({ team: _team, ...rule }) => ({ ...rule, group: "S1" }));
      expect(matchRules({ rules: byGroup, requester: { ...requester, external } }).byGroup).toEqual(
        byGroup.filter((_rule, index) => ruleIndex[index]),
      );
    },
  );

  it("refuses a rule that is both for a bot and for people, in configuration and store", () => {
    for (const rule of [
      { bot: "B2", user: "U1" },
      { bot: "B2", group: "S1" },
      { bot: "U1" },
      { external: "people" },
    ]) {
      expect(configFields.safeParse({ allowlist: [rule] }).success).toBe(false);
      if (rule.bot === "U1") continue;
      const rules = [{ rule, number: 1, addedAtMs: 0 }];
      expect(() => parseStoredRules({ ...noStoredRules(), rules })).toThrow();
    }
    for (const bot of ["B2", "A2", "Wf2"]) {
      const rule = { bot, external: "channels" };
      expect(configFields.safeParse({ allowlist: [rule] }).success).toBe(true);
      expect(
        parseStoredRules({ ...noStoredRules(), rules: [{ rule, number: 1, addedAtMs: 0 }] }).rules,
      ).toHaveLength(1);
    }
  });

  it("skips an unreadable stored rule and keeps the others", () => {
    const storedRules = [{ team: "T1", role: "guest" }, { user: "U1" }];
    const rules = storedRules.map((rule, index) => ({ rule, number: index + 1, addedAtMs: 0 }));
    const readableRules = parseReadableRules({ ...noStoredRules(), rules }).rules.map(
      ({ rule }) => rule,
    );
    expect(readableRules).toEqual([{ user: "U1" }]);
    expect(() => parseReadableRules({ ...noStoredRules(), rules: "none" })).toThrow();
  });

  it.each([
    [true, { team: "T1" }],
    [true, { channel: "C1" }],
    [true, { user: "U1" }],
    [true, { team: "T1", channel: "C1", user: "U1", label: "one" }],
    [false, { team: "T2" }],
    [false, { team: "T1", channel: "C2" }],
    [false, { channel: "C1", user: "U2" }],
    [false, { user: "T1" }],
    [false, { channel: "C1", group: "S1" }],
    [false, { group: "S1" }],
  ])(
    "returns %s for one message and the rule %j, because every field of a rule must match",
    (isAllowed, rule) => {
      expect(letsIn(rule)).toBe(isAllowed);
    },
  );

  it("lists the groups whose members a rule lets in if the rest of the rule matches", () => {
    const rules = [
      { group: "S1" },
      { channel: "C1", group: "S2" },
      { channel: "C2", group: "S3" },
      { user: "U2", group: "S4" },
    ];
    expect(matchRules({ rules, requester }).byGroup).toEqual(rules.slice(0, 2));
  });

  it("admits exactly the messages that any single rule admits, in any order", () => {
    forAll(fc.array(anyRule, { maxLength: 5 })).hold((rules) => {
      expect(letsIn(...rules)).toBe(rules.some((rule) => letsIn(rule)));
      expect(couldLetIn(...rules)).toBe(rules.some((rule) => couldLetIn(rule)));
      expect(letsIn(...rules.toReversed())).toBe(letsIn(...rules));
    });
  });

  it("never lets in more when a rule names one more field", () => {
    forAll(anyRule, slackId, fc.constantFrom("team", "channel", "user", "group")).hold(
      (rule, id, field) => {
        fc.pre(rule[field] === undefined && Object.keys(rule).length > 0);
        const narrower = { ...rule, [field]: id };
        if (letsIn(narrower)) expect(letsIn(rule)).toBe(true);
        if (couldLetIn(narrower)) expect(couldLetIn(rule)).toBe(true);
      },
    );
  });
});

const authorizer = { type: "bearer", token: { env: "TOKEN" } };
const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123";
const card = "https://agents.example/card.json";
const url = "https://agents.example/";

function addressOf(destination: object): string | undefined {
  const config = parseConfig({ json: { destinations: { one: destination }, routes: [] } });
  return createPolicy({ config }).destinations.get("one")?.address;
}

describe("the address of a destination", () => {
  it.each([
    ["https", { url }, { url: `${url}other` }],
    ["a2a", { card }, { card: `${card}?other` }],
    ["a2a", { card, url }, { card, url: `${url}other` }],
    ["a2a", { card, url }, { card }],
  ])(
    "changes the address of a destination if its %s address is edited: %j, %j",
    (transport, oldValue, newValue) => {
      const destination = { transport, authorizer, ...oldValue };
      expect(addressOf({ ...destination, deadlineMs: 5000 })).toBe(addressOf(destination));
      expect(addressOf({ transport, authorizer, ...newValue })).not.toBe(addressOf(destination));
    },
  );

  it.each([
    ["https", { url, authorizer }, "1187714065ba984c"],
    ["agentcore", { runtimeArn }, "ceaea5c16f224a3a"],
  ])(
    "keeps the address of a destination over %s as stored in the records of running tasks",
    (transport, destination, address) => {
      expect(addressOf({ transport, ...destination })).toBe(address);
    },
  );
});

describe("the policy of lookups", () => {
  const policyOf = (context: object = {}) =>
    createPolicy({ config: configFields.parse({ slack: { context } }) });
  const message = { ...sampleAsk().message, text: "Ask robin@example.com about #12 and @SRE" };
  const withId = { ...message, text: "Ask @U123" };
  const open = [{ type: "channel" as const, id: "C2" }];

  it.each([
    ["a text without ids", message, {}, false],
    ["a text with an id", withId, {}, true],
    ["a text with an id while names are off", withId, { names: false }, false],
    [
      "a text with the id of a group",
      { ...message, text: "Ask @S123" },
      { names: false, groups: true },
      true,
    ],
    [
      "an instruction with an id",
      { ...message, about: { ts: "1.1", instruction: "for @U123" } },
      {},
      true,
    ],
    ["any text while channels are on", message, { channel: true }, true],
    ["open items", { ...message, open }, { open: true }, true],
    ["open items while those are off", { ...message, open }, {}, false],
    ["no open items", message, { open: true }, false],
  ])(
    "decides whether to call Slack for a message with %s",
    (_name, pending, context, needsLookups) => {
      expect(policyOf(context).needsLookups(pending)).toBe(needsLookups);
    },
  );

  it("adds names to a text unless that makes it too long for a task", () => {
    const { addNames } = policyOf();
    expect(addNames("@U123, @U124 and @U125", { U123: "robin", U124: "kim" })).toBe(
      "@robin (U123), @kim (U124) and @U125",
    );
    const long = `@U123${"x".repeat(39_000)} ${"@U123 ".repeat(100)}`;
    expect(addNames(long, { U123: "n".repeat(80) })).toBe(long);
  });
});
