import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createFindTeam } from "../../../lambdas/verification/installations/installations.ts";
import { type FakeSlack, startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";

const botToken = "xoxb-fake-slack";
const organization = "xoxb-organization";
let fakeSlack: FakeSlack;
beforeEach(async () => {
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, otherTokens: { organization } });
});
afterEach(() => fakeSlack.close());

describe("whose a token is", () => {
  it("is a workspace's or a whole organization's, asked once", async () => {
    const calls: string[] = [];
    fakeSlack.onCall(({ method }) => calls.push(method));
    const teamOf = createFindTeam({ apiUrl: fakeSlack.apiUrl });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
    expect(await teamOf(organization)).toMatchObject({ enterprise: "ESTANDIN" });
    expect(calls).toEqual(["auth.test", "auth.test"]);
  });

  it("is nobody's where Slack does not take it", async () => {
    expect(await createFindTeam({ apiUrl: fakeSlack.apiUrl })("xoxb-wrong")).toBeUndefined();
  });

  it("is unknown where Slack does not say, and is asked again then", async () => {
    fakeSlack.inject({ method: "auth.test", type: "status", status: 500 });
    const teamOf = createFindTeam({ apiUrl: fakeSlack.apiUrl });
    await expect(teamOf(botToken)).rejects.toMatchObject({ kind: "ambiguous" });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
  });
});
