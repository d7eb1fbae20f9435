import { describe, expect, it } from "@jest/globals";
import { createBotTokens } from "../../../../lambdas/verification/installations/installations.ts";
import { workspace } from "../../../../lib/local/fake-slack/workspace.ts";
import { failure, slackClient } from "./slack-client.ts";

const organizationToken = "xoxb-organization";
const client = slackClient({ otherTokens: { organization: organizationToken } });

describe("what Slack knows of people", () => {
  it("is their language", async () => {
    const { api, common } = client();
    expect(await api().person({ ...common, user: "UHANAKO" })).toEqual({ locale: "ja-JP" });
    expect(await api().person({ ...common, user: workspace.person })).toEqual({ locale: "en-US" });
  });

  it("is who belongs to a group", async () => {
    const { api, common } = client();
    expect(await api().groupMembers({ ...common, group: "SDEPLOYERS" })).toEqual(["UHANAKO"]);
    expect(await api().groupMembers({ ...common, group: "SNOBODY" })).toEqual([]);
  });

  it("is asked of one workspace where the token is of an organization", async () => {
    const { api, common, fakeSlack } = client();
    const args: unknown[] = [];
    fakeSlack.onCall((call) => args.push(call.args.team_id));
    await api().groupMembers({ ...common, group: "SNOBODY" });
    const slack = api({ tokens: createBotTokens({ botToken: async () => organizationToken }) });
    const installation = { team: "TGRID", enterprise: "ESTANDIN" };
    await slack.groupMembers({ ...common, installation, group: "S1" }).catch(() => {});
    expect(args).toEqual([undefined, "TGRID"]);
  });

  it("is where one can write to them alone", async () => {
    const { api, common, fakeSlack } = client();
    const { channel } = await api().openDirect({ ...common, user: "UHANAKO" });
    expect(channel).toBe("DHANAKO");
    fakeSlack.inject({ method: "conversations.open", type: "lost_answer" });
    expect(await api().openDirect({ ...common, user: "UHANAKO" })).toEqual({ channel });
  });

  it.each([
    ["users.info", "user_not_found"],
    ["users.info", "user_not_visible"],
    ["usergroups.users.list", "no_such_subteam"],
    ["usergroups.users.list", "plan_upgrade_required"],
  ])("is refused for good where %s says %s", async (method, error) => {
    const { api, common, fakeSlack } = client();
    fakeSlack.inject({ method, type: "error", error });
    const call =
      method === "users.info"
        ? api().person({ ...common, user: "U1" })
        : api().groupMembers({ ...common, group: "S1" });
    expect(await failure(call)).toMatchObject({ kind: "refused", slackError: error });
  });
});

describe("the assistant", () => {
  it("says what it is at, and takes it back", async () => {
    const { api, common, fakeSlack } = client();
    const place = fakeSlack.openAssistant({ eventsUrl: fakeSlack.apiUrl });
    const at = { ...common, channel: place.channel, threadTs: place.threadTs };
    await api().setStatus({ ...at, status: "is working on it …" });
    expect(fakeSlack.statuses()).toEqual([
      { channel: place.channel, threadTs: place.threadTs, status: "is working on it …" },
    ]);
    await api().setStatus({ ...at, status: "" });
    expect(fakeSlack.statuses()).toEqual([]);
  });

  it("suggests what one could ask", async () => {
    const { api, common, fakeSlack } = client();
    const { channel, threadTs } = fakeSlack.openAssistant({ eventsUrl: fakeSlack.apiUrl });
    const prompts = [{ title: "Deploy", message: "Deploy the harbour" }];
    await api().suggestPrompts({ ...common, channel, threadTs, prompts });
    expect(fakeSlack.prompts()).toEqual([expect.objectContaining({ channel, threadTs, prompts })]);
  });
});
