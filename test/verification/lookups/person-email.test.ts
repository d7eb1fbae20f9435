/** The e-mail address that the asker's token may have: a confirmed one of a full member, and else none. */
import { describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createFindEmail } from "@sekisho/verification/lookups/person-email.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { withGrowingLimit } from "../../doubles/growing-limit.ts";
import { serve } from "../../doubles/serving.ts";
import { slackClient } from "../slack/api/slack-client.ts";
import { sampleTask } from "../task/sample.ts";

const client = slackClient();
const unscoped = slackClient({ scopes: ["chat:write", "users:read"] });
const allowed = slackClient({ scopes: ["chat:write", "users:read", "users:read.email"] });
const hourMs = 3600_000;
const address = "kim@example.com";

/** A full member of the workspace T1, as Slack describes one. */
const member = {
  id: "U1",
  team_id: "T1",
  is_bot: false,
  is_restricted: false,
  is_ultra_restricted: false,
  is_email_confirmed: true,
  deleted: false,
  profile: { display_name: "Kim", email: address },
};
const grid = { enterprise_id: "E1", teams: ["T2"] };

/** Slack answers `users.info` with `reply`. `calls` counts the requests. */
async function open(reply: object | (() => Promise<Response>), maxWaitMs = 60_000) {
  let nowMs = 0;
  const seen = { calls: 0 };
  const { url } = await serve(() => {
    seen.calls += 1;
    return typeof reply === "function" ? reply() : Response.json(reply);
  });
  const slack = client().api({ apiUrl: `${url}/` });
  const findEmail = createFindEmail({ slack, now: () => nowMs, maxWaitMs });
  return {
    seen,
    pass(ms: number) {
      nowMs += ms;
    },
    find(message: Partial<UserMessage> = {}, user = "U1") {
      const task = sampleTask({ message: { ...sampleTask().message, ...message } });
      return findEmail({ task, user, signal: new AbortController().signal });
    },
  };
}

const withUser = (changes: object) => ({ ok: true, user: { ...member, ...changes } });

describe("the e-mail address of a person", () => {
  it.each<[string, object, Partial<UserMessage>]>([
    ["a member", {}, {}],
    ["a member whom Slack does not call a stranger", { is_stranger: false }, {}],
    [
      "a colleague, with the app in the organization",
      { team_id: "T2", enterprise_user: grid },
      { enterprise: "E1" },
    ],
    ["a member in a shared channel", {}, { external: "channels" }],
  ])("comes with the token: %s", async (_who, user, message) => {
    const { find } = await open(withUser(user));
    expect(await find(message)).toBe(address);
  });

  it.each<[string, object, Partial<UserMessage>]>([
    ["an unconfirmed address", { is_email_confirmed: false }, {}],
    ["an address of which Slack does not say that", { is_email_confirmed: undefined }, {}],
    ["a guest", { is_restricted: true }, {}],
    ["a guest of one channel", { is_ultra_restricted: true }, {}],
    ["somebody who may be a guest", { is_restricted: undefined }, {}],
    ["a stranger", { is_stranger: true }, {}],
    ["a bot", { is_bot: true }, {}],
    ["somebody who may be a bot", { is_bot: undefined }, {}],
    ["a workflow", { is_workflow_bot: true }, {}],
    ["a deleted person", { deleted: true }, {}],
    ["no address", { profile: {} }, {}],
    ["no form of an address", { profile: { email: "kim" } }, {}],
    ["two addresses", { profile: { email: "kim@a.example lee@b.example" } }, {}],
    ["another workspace", { team_id: "T9" }, {}],
    [
      "another workspace of the organization, without the app there",
      { team_id: "T2", enterprise_user: grid },
      {},
    ],
    [
      "another organization",
      { team_id: "T9", enterprise_user: { enterprise_id: "E9", teams: [] } },
      { enterprise: "E1" },
    ],
    ["a workspace that the profile does not name", {}, { userTeam: "T9" }],
  ])("stays out of the token: %s", async (_what, user, message) => {
    const { seen, find } = await open(withUser(user));
    expect(await find(message)).toBeUndefined();
    expect(seen.calls).toBe(1);
  });

  it("costs no call if the message comes from another organization", async () => {
    const { seen, find } = await open(withUser({}));
    expect(await find({ external: "people", userTeam: "T1" })).toBeUndefined();
    expect(seen.calls).toBe(0);
    // Somebody else answers the question of that person's task.
    expect(await find({ external: "people", user: "U2" })).toBe(address);
  });

  it("costs one call per person and hour", async () => {
    const { seen, find, pass } = await open(withUser({}));
    for (const ms of [0, hourMs - 1]) {
      pass(ms);
      expect(await find()).toBe(address);
    }
    expect(seen.calls).toBe(1);
    await find({}, "U2");
    expect(seen.calls).toBe(2);
    pass(1);
    await find();
    expect(seen.calls).toBe(3);
  });

  it.each([
    ["missing_scope", hourMs],
    ["user_not_found", hourMs],
    ["internal_error", 60_000],
  ])("stays away after an error of Slack, which is not asked again soon: %s", async (error, ms) => {
    const { seen, find, pass } = await open({ ok: false, error });
    expect(await find()).toBeUndefined();
    const { calls } = seen;
    pass(ms - 1);
    expect(await find()).toBeUndefined();
    expect(seen.calls).toBe(calls);
    pass(1);
    await find();
    expect(seen.calls).toBeGreaterThan(calls);
  });

  it("delays no call if Slack does not answer", async () => {
    const never = () => new Promise<Response>(() => {});
    const attempt = async (maxWaitMs: number) => {
      const { seen, find } = await open(never, maxWaitMs);
      const addresses = [await find(), await find()];
      return { addresses, calls: seen.calls };
    };
    // On a busy machine the first limit may pass before the request is sent.
    const isFair = ({ calls }: { calls: number }) => calls > 0;
    expect(await withGrowingLimit({ firstMs: 20, attempt, isFair })).toEqual({
      addresses: [undefined, undefined],
      calls: 1,
    });
  });

  it.each([
    ["chat:write users:read", undefined],
    ["chat:write users:read users:read.email", "hanako@example.com"],
  ])("needs a scope of its own: %s", async (scopes, email) => {
    const granted = scopes.endsWith("email") ? allowed() : unscoped();
    const { team } = workspace;
    const task = sampleTask({ message: { ...sampleTask().message, team, user: "UHANAKO" } });
    const { signal } = new AbortController();
    const findEmail = createFindEmail({ slack: granted.api(), now: () => 0 });
    expect(await findEmail({ task, user: "UHANAKO", signal })).toBe(email);
  });
});
