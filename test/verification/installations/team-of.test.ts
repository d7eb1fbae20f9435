import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type SlackStandIn, startSlackStandIn } from "../../../bin/local/slack-stand-in.ts";
import { createTeamOf } from "../../../lambdas/verification/installations/team-of.ts";

const botToken = "xoxb-stand-in";
const organization = "xoxb-organization";
let standIn: SlackStandIn;
beforeEach(async () => {
  standIn = await startSlackStandIn({ signingSecret: "s", botToken, otherTokens: { organization } });
});
afterEach(() => standIn.close());

describe("whose a token is", () => {
  it("is a workspace's or a whole organization's, asked once", async () => {
    const calls: string[] = [];
    standIn.onCall(({ method }) => calls.push(method));
    const teamOf = createTeamOf({ apiUrl: standIn.apiUrl });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
    expect(await teamOf(organization)).toMatchObject({ enterprise: "ESTANDIN" });
    expect(calls).toEqual(["auth.test", "auth.test"]);
  });

  it("is nobody's where Slack does not take it", async () => {
    expect(await createTeamOf({ apiUrl: standIn.apiUrl })("xoxb-wrong")).toBeUndefined();
  });

  it("is unknown where Slack does not say, and is asked again then", async () => {
    standIn.inject({ method: "auth.test", type: "status", status: 500 });
    const teamOf = createTeamOf({ apiUrl: standIn.apiUrl });
    await expect(teamOf(botToken)).rejects.toMatchObject({ kind: "ambiguous" });
    expect(await teamOf(botToken)).toEqual({ team: "TSTANDIN" });
  });
});
