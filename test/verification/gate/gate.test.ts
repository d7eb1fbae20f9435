/** The gate: where a message goes, how old it may be. */
import { describe, expect, it } from "@jest/globals";
import { findRoute } from "../../../lambdas/verification/gate/rules.ts";
import type { UserMessage } from "../../../lambdas/verification/task/messages.ts";
import { isTooOld, maxAgeMs } from "../../../lambdas/verification/task/step.ts";

const message: UserMessage = {
  appId: "A1",
  team: "T1",
  channel: "C1",
  user: "U1",
  ts: "1762750000.000100",
  direct: false,
  text: "hello",
};
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
    expect(findRoute({ routes, message: { ...message, team, channel } })).toEqual([destination]);
  });

  it.each(["deploy: staging", "Deploy:staging", " deploy : x:y", "ＤＥＰＬＯＹ：本番", "deploy:"])(
    "take %j for the word deploy, with the destinations in their order",
    (text) => {
      expect(findRoute({ routes, message: { ...message, team: "T2", channel: "C2", text } })).toEqual([
        "deploy",
        "spare",
      ]);
    },
  );

  it.each(["deploy staging", "please deploy: x", "deploys: x", "undeploy: x", ": deploy", ""])(
    "do not take %j for it",
    (text) => {
      expect(findRoute({ routes, message: { ...message, team: "T2", channel: "C2", text } })).toEqual(["default"]);
    },
  );

  it("are found by the beginning of the text alone", () => {
    const inOther = { ...message, team: "T2", channel: "C2" };
    const longest = `${" ".repeat(1000)}deploy: ${"x".repeat(40_000)}`;
    expect(findRoute({ routes, message: { ...inOther, text: longest } })).toEqual(["deploy", "spare"]);
    const late = `deploy${" ".repeat(1000)}: x`;
    expect(findRoute({ routes, message: { ...inOther, text: late } })).toEqual(["default"]);
  });

  it("lead nowhere where none fits", () => {
    expect(findRoute({ routes: routes.slice(0, 3), message: { ...message, team: "T2", channel: "C2" } })).toEqual([]);
    expect(findRoute({ routes: [], message })).toEqual([]);
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
