/** The gate: who may ask, where it goes, how old it may be. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { configSchema } from "../../../lambdas/shared/config/schema.ts";
import { isTooOld, maxAgeMs } from "../../../lambdas/verification/gate/age.ts";
import { isAllowed } from "../../../lambdas/verification/gate/allowlist.ts";
import { routeOf } from "../../../lambdas/verification/gate/route.ts";
import type { AskedMessage } from "../../../lambdas/verification/task/messages.ts";

const message: AskedMessage = {
  appId: "A1",
  team: "T1",
  channel: "C1",
  user: "U1",
  ts: "1762750000.000100",
  direct: false,
  text: "hello",
};
const slackId = fc.constantFrom("T1", "C1", "U1", "X1");
const anyRule = fc.record({ team: slackId, channel: slackId, user: slackId }, { requiredKeys: [] });

describe("the allowlist", () => {
  it("lets nobody pass where it is empty", () => {
    expect(isAllowed({ rules: [], message })).toBe(false);
  });

  it("lets nobody pass by a rule that names nothing", () => {
    expect(isAllowed({ rules: [{}, { team: undefined, channel: undefined }], message })).toBe(false);
  });

  it("is refused by the configuration where a rule has a misspelt field, which would make it wider than it reads", () => {
    const parse = (rule: unknown) => configSchema.safeParse({ allowlist: [rule] }).success;
    expect([parse({ team: "T1", user: "U1" }), parse({ team: "T1", usr: "U1" }), parse({})]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it.each([
    [true, { team: "T1" }],
    [true, { channel: "C1" }],
    [true, { user: "U1" }],
    [true, { team: "T1", channel: "C1", user: "U1" }],
    [false, { team: "T2" }],
    [false, { team: "T1", channel: "C2" }],
    [false, { channel: "C1", user: "U2" }],
    [false, { user: "T1" }],
  ])("says %s to one message by the rule %j: every given field must match", (allowed, rule) => {
    expect(isAllowed({ rules: [rule], message })).toBe(allowed);
  });

  it("lets a message pass exactly where one rule alone does, in whatever order", () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 5 }), (rules) => {
        const byOne = rules.some((rule) => isAllowed({ rules: [rule], message }));
        expect(isAllowed({ rules, message })).toBe(byOne);
        expect(isAllowed({ rules: rules.toReversed(), message })).toBe(byOne);
      }),
    );
  });

  it("grows narrower, never wider, when a rule names one more field", () => {
    fc.assert(
      fc.property(anyRule, slackId, fc.constantFrom("team", "channel", "user"), (rule, id, field) => {
        fc.pre(rule[field] === undefined && Object.keys(rule).length > 0);
        if (isAllowed({ rules: [{ ...rule, [field]: id }], message })) {
          expect(isAllowed({ rules: [rule], message })).toBe(true);
        }
      }),
    );
  });
});

describe("the routes", () => {
  const routes = [
    { team: "T1", channel: "C1", destination: ["both"] },
    { channel: "C1", destination: ["channel"] },
    { word: "deploy", destination: ["deploy", "spare"] },
    { team: "T1", destination: ["team"] },
    { destination: ["default"] },
  ];

  it.each([
    ["T1", "C1", "both"],
    ["T2", "C1", "channel"],
    ["T1", "C2", "team"],
    ["T2", "C2", "default"],
  ])("send %s in %s to the first that fits, %s", (team, channel, destination) => {
    expect(routeOf({ routes, message: { ...message, team, channel } })).toEqual([destination]);
  });

  it.each(["deploy: staging", "Deploy:staging", " deploy : x:y", "ＤＥＰＬＯＹ：本番", "deploy:"])(
    "take %j for the word deploy, with the destinations in their order",
    (text) => {
      expect(routeOf({ routes, message: { ...message, team: "T2", channel: "C2", text } })).toEqual([
        "deploy",
        "spare",
      ]);
    },
  );

  it.each(["deploy staging", "please deploy: x", "deploys: x", "undeploy: x", ": deploy", ""])(
    "do not take %j for it",
    (text) => {
      expect(routeOf({ routes, message: { ...message, team: "T2", channel: "C2", text } })).toEqual(["default"]);
    },
  );

  it("lead nowhere where none fits", () => {
    expect(routeOf({ routes: routes.slice(0, 3), message: { ...message, team: "T2", channel: "C2" } })).toEqual([]);
    expect(routeOf({ routes: [], message })).toEqual([]);
  });
});

describe("the age", () => {
  const sentMs = Number(message.ts) * 1000;
  const at = (nowMs: number, receivedAtMs = nowMs) => isTooOld({ ts: message.ts, receivedAtMs, nowMs });

  it("is too high when more than 24 hours have passed since the post", () => {
    expect([at(sentMs), at(sentMs + maxAgeMs), at(sentMs + maxAgeMs + 1)]).toEqual([false, false, true]);
  });

  it("is too high when the message lay in the queue that long, whatever its ts says", () => {
    expect(at(sentMs + 1000, sentMs - maxAgeMs)).toBe(true);
  });

  it("is too high where the ts is no number", () => {
    expect(isTooOld({ ts: "soon", receivedAtMs: sentMs, nowMs: sentMs })).toBe(true);
  });
});
