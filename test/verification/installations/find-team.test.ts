import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { createFindTeam } from "@sekisho/verification/installations/find-team.ts";

describe("the workspace of a token", () => {
  const botToken = "xoxb-fake-slack";

  const organization = "xoxb-organization";

  let fakeSlack: FakeSlack;

  beforeEach(async () => {
    fakeSlack = await startFakeSlack({
      signingSecret: "s",
      botToken,
      otherTokens: { organization },
    });
  });

  afterEach(() => fakeSlack.close());

  it("finds the workspace or organization of a token with one call", async () => {
    const calls: string[] = [];
    fakeSlack.onCall(({ method }) => calls.push(method));
    const teamOf = createFindTeam({ apiUrl: fakeSlack.apiUrl });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
    expect(await teamOf(organization)).toMatchObject({ enterprise: "ESTANDIN" });
    expect(calls).toEqual(["auth.test", "auth.test"]);
  });

  it("returns nothing for a token that Slack refuses", async () => {
    expect(await createFindTeam({ apiUrl: fakeSlack.apiUrl })("xoxb-wrong")).toBeUndefined();
  });

  it("asks again a minute after Slack refused a token, and once for concurrent callers", async () => {
    let nowMs = 1_000_000;
    const teamOf = createFindTeam({ apiUrl: fakeSlack.apiUrl, now: () => nowMs });
    // One call fails: a second one at the same time would be answered.
    fakeSlack.inject({ method: "auth.test", type: "error", error: "account_inactive" });
    expect(await Promise.all([teamOf(botToken), teamOf(botToken)])).toEqual([undefined, undefined]);
    nowMs += 59_999;
    expect(await teamOf(botToken)).toBeUndefined();
    nowMs += 1;
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
  });

  it("rejects if Slack does not say, and asks again at the next call", async () => {
    fakeSlack.inject({ method: "auth.test", type: "status", status: 500 });
    const teamOf = createFindTeam({ apiUrl: fakeSlack.apiUrl });
    await expect(teamOf(botToken)).rejects.toMatchObject({ kind: "ambiguous" });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
  });
});
