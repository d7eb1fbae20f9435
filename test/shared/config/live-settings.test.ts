/** What can change without a deploy, and what cannot. */
import { describe, expect, it } from "@jest/globals";
import {
  fingerprintsOf,
  liveSettingsOf,
  needDeploy,
  withLiveSettings,
} from "../../../lambdas/shared/config/live-settings.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";

const bearer = { type: "bearer", token: { secretsManager: "sekisho/dev/TOKEN" } };
const sigv4 = { type: "sigv4", service: "lambda", region: "eu-central-1" };
const far = { transport: "https", url: "https://a.example/", authorizer: bearer };
const federated = {
  transport: "https",
  url: "https://c.example/",
  authorizer: { type: "web-identity", audience: "https://c.example/" },
};
const assumed = {
  transport: "https",
  url: "https://d.example/",
  authorizer: { ...sigv4, assumeRoleArn: "arn:aws:iam::123456789012:role/agents" },
};
const signed = { transport: "https", url: "https://b.example/", authorizer: sigv4 };

const trusted = { ...far, forwardBotToken: true };

function configWith(changes: Record<string, unknown>) {
  const destinations = { local: { transport: "https" }, far, signed, federated, assumed, trusted };
  return parseConfig({ json: { destinations, routes: [{ destination: "local" }], ...changes } });
}
const deployed = configWith({});

describe("the live settings", () => {
  it("carry the routes and what needs no permission to where they are read", () => {
    const edited = configWith({
      destinations: {
        local: { transport: "https", deadlineMs: 60_000, concurrency: "parallel", longPollMs: 5000 },
        far: { ...far, url: "https://other.example/", idempotent: true },
        signed,
        federated: { ...federated, url: "https://other.example/" },
        assumed: { ...assumed, url: "https://other.example/" },
        trusted,
      },
      routes: [{ channel: "C1", word: "deploy", destination: ["far", "local"] }, { destination: "local" }],
    });
    expect(needDeploy({ config: edited, deployed: fingerprintsOf(deployed) })).toEqual([]);
    const json = JSON.parse(JSON.stringify(liveSettingsOf(edited)));
    expect(withLiveSettings({ config: deployed, json })).toEqual(edited);
  });

  it("change nothing where they are empty, as the stack creates them", () => {
    expect(withLiveSettings({ config: deployed, json: {} })).toEqual(deployed);
  });

  it.each([
    ["another transport", { far: { transport: "agentcore", runtimeArn: arn() } }],
    ["another authorizer", { far: { ...far, authorizer: sigv4 } }],
    ["another address of a signed call", { signed: { ...signed, url: "https://c.example/" } }],
    ["another audience", { federated: { ...federated, authorizer: { type: "web-identity", audience: "other" } } }],
    [
      "another role",
      { assumed: { ...assumed, authorizer: { ...sigv4, assumeRoleArn: "arn:aws:iam::123456789012:role/other" } } },
    ],
    ["the bot token", { far: { ...far, forwardBotToken: true } }],
    ["an address where there was none", { local: far }],
    ["a new destination", { new: far }],
  ])("do not hold %s, which needs a deploy", (_what, changes) => {
    const destinations = { local: { transport: "https" }, far, signed, federated, assumed, trusted, ...changes };
    const [name] = Object.keys(changes);
    const edited = configWith({ destinations });
    expect(needDeploy({ config: edited, deployed: fingerprintsOf(deployed) })).toEqual([name]);
  });

  it.each([
    ["of a signed call", "signed"],
    ["of the stage's own Execution zone", "local"],
    ["that gets the bot token", "trusted"],
  ])("take no address %s: the deployed one holds, and all else with it", (_what, name) => {
    const json = { destinations: { [name]: { url: "https://evil.example/", deadlineMs: 5000 } } };
    const { destinations } = withLiveSettings({ config: deployed, json });
    expect(destinations[name]).toEqual({ ...deployed.destinations[name], deadlineMs: 5000 });
  });

  it.each([
    ["a route to nowhere", { routes: [{ destination: "nowhere" }] }, /nowhere/],
    ["a destination that was not deployed", { destinations: { new: { deadlineMs: 5000 } } }, /needs a deploy/],
    ["a field that needs a deploy", { destinations: { far: { authorizer: bearer } } }, /authorizer/],
    [
      "an address with credentials in it",
      { destinations: { far: { url: "https://u:p@a.example/" } } },
      /without credentials/,
    ],
    ["what is no value of the field", { destinations: { far: { deadlineMs: "soon" } } }, /deadlineMs/],
    ["something else altogether", [], /live settings/],
  ])("are refused for %s", (_what, json, problem) => {
    expect(() => withLiveSettings({ config: deployed, json })).toThrow(problem);
  });
});

function arn(): string {
  return "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123";
}
