/** What can change without a deploy, and what cannot. */
import { describe, expect, it } from "@jest/globals";
import { entries } from "@sekisho/cdk/bundle/entry.ts";
import {
  createFingerprints,
  listUndeployedChanges,
  outdatedSettings,
  toLiveSettings,
  withLiveSettings,
} from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";

const bearer = { type: "bearer", token: { secretsManager: "sekisho/dev/TOKEN" } };
const sigv4 = { type: "sigv4", service: "lambda", region: "eu-central-1" };
const far = { transport: "https", url: "https://a.example/", authorizer: bearer };
const federatedDestination = {
  transport: "https",
  url: "https://c.example/",
  authorizer: { type: "web-identity", audience: "https://c.example/" },
};
const roleDestination = {
  transport: "https",
  url: "https://d.example/",
  authorizer: { ...sigv4, assumeRoleArn: "arn:aws:iam::123456789012:role/agents" },
};
const signedDestination = { transport: "https", url: "https://b.example/", authorizer: sigv4 };

const trustedDestination = { ...far, forwardBotToken: true };

function configWith(changes: Record<string, unknown>) {
  const destinations = {
    local: { transport: "https" },
    far,
    signed: signedDestination,
    federated: federatedDestination,
    assumed: roleDestination,
    trusted: trustedDestination,
  };
  return parseConfig({ json: { destinations, routes: [{ destination: "local" }], ...changes } });
}
const deployedConfig = configWith({});

describe("the live settings", () => {
  it("carries the routes and the fields without permissions to the deployed configuration", () => {
    const editedConfig = configWith({
      destinations: {
        local: {
          transport: "https",
          deadlineMs: 60_000,
          concurrency: "parallel",
          longPollMs: 5000,
        },
        far: { ...far, url: "https://other.example/", idempotent: true },
        signed: signedDestination,
        federated: { ...federatedDestination, url: "https://other.example/" },
        assumed: { ...roleDestination, url: "https://other.example/" },
        trusted: trustedDestination,
      },
      routes: [
        { channel: "C1", word: "deploy", destination: ["far", "local"] },
        { destination: "local" },
      ],
    });
    expect(
      listUndeployedChanges({ config: editedConfig, deployed: createFingerprints(deployedConfig) }),
    ).toEqual([]);
    const json = JSON.parse(JSON.stringify(toLiveSettings(editedConfig)));
    expect(withLiveSettings({ config: deployedConfig, json })).toEqual(editedConfig);
  });

  it("changes nothing for empty settings, as the stack creates them", () => {
    expect(withLiveSettings({ config: deployedConfig, json: {} })).toEqual(deployedConfig);
  });

  it.each([
    ["another transport", { far: { transport: "agentcore", runtimeArn: arn() } }],
    ["another authorizer", { far: { ...far, authorizer: sigv4 } }],
    [
      "another address of a signed call",
      { signed: { ...signedDestination, url: "https://c.example/" } },
    ],
    [
      "another audience",
      {
        federated: {
          ...federatedDestination,
          authorizer: { type: "web-identity", audience: "other" },
        },
      },
    ],
    [
      "another role",
      {
        assumed: {
          ...roleDestination,
          authorizer: { ...sigv4, assumeRoleArn: "arn:aws:iam::123456789012:role/other" },
        },
      },
    ],
    ["the bot token", { far: { ...far, forwardBotToken: true } }],
    ["a new address", { local: far }],
    ["a new destination", { new: far }],
  ])("requires a deploy for %s", (_what, changes) => {
    const destinations = {
      local: { transport: "https" },
      far,
      signed: signedDestination,
      federated: federatedDestination,
      assumed: roleDestination,
      trusted: trustedDestination,
      ...changes,
    };
    const [name] = Object.keys(changes);
    const editedConfig = configWith({ destinations });
    expect(
      listUndeployedChanges({ config: editedConfig, deployed: createFingerprints(deployedConfig) }),
    ).toEqual([name]);
  });

  it.each([
    ["of a signed call", "signed"],
    ["of the stage's own Execution zone", "local"],
    ["that gets the bot token", "trusted"],
  ])("ignores an address %s, and applies the other settings", (_what, name) => {
    const fingerprint = createFingerprints(deployedConfig)[name];
    const json = {
      destinations: { [name]: { fingerprint, url: "https://evil.example/", deadlineMs: 5000 } },
    };
    const { destinations } = withLiveSettings({ config: deployedConfig, json });
    expect(destinations[name]).toEqual({ ...deployedConfig.destinations[name], deadlineMs: 5000 });
  });

  it.each([
    ["a route to an unknown destination", { routes: [{ destination: "nowhere" }] }, /nowhere/],
    ["a route to a destination that was not deployed", withNew([{ destination: "new" }]), /new/],
    [
      "an address with credentials in it",
      {
        destinations: {
          far: {
            fingerprint: createFingerprints(deployedConfig).far,
            url: "https://u:p@a.example/",
          },
        },
      },
      /without credentials/,
    ],
    [
      "an invalid value of a field",
      { destinations: { far: { deadlineMs: "soon" } } },
      /deadlineMs/,
    ],
    ["a list instead of settings", [], /live settings/],
  ])("refuses live settings with %s", (_what, json, problem) => {
    expect(() => withLiveSettings({ config: deployedConfig, json })).toThrow(problem);
  });
});

describe("live settings that were pushed for another peer or credential", () => {
  const otherBearer = { type: "bearer", token: { secretsManager: "sekisho/dev/OTHER_TOKEN" } };
  const movedDestination = {
    ...far,
    url: "https://b.example/",
    authorizer: otherBearer,
    idempotent: true,
    longPollMs: 5000,
  };
  const card = "https://b.example/card.json";
  const oldConfig = configOfFar(far);
  const settingsOf = (config: ReturnType<typeof configOfFar>) =>
    JSON.parse(JSON.stringify(toLiveSettings(config)));

  it.each([
    ["another token", movedDestination],
    [
      "another kind of authorizer",
      { ...movedDestination, authorizer: federatedDestination.authorizer },
    ],
    [
      "another transport",
      {
        ...movedDestination,
        transport: "a2a",
        card,
        longPollMs: 0,
        version: "0.3",
        dialect: "a2a-0.3",
      },
    ],
  ])(
    "keeps the deployed peer after a rollback and until the next push, despite settings for %s",
    (_what, other) => {
      const newConfig = configOfFar(other);
      expect(withLiveSettings({ config: oldConfig, json: settingsOf(newConfig) })).toEqual(
        oldConfig,
      );
      expect(withLiveSettings({ config: newConfig, json: settingsOf(oldConfig) })).toEqual(
        newConfig,
      );
      expect(
        outdatedSettings({ json: settingsOf(newConfig), deployed: createFingerprints(oldConfig) }),
      ).toEqual(["far"]);
      expect(
        outdatedSettings({ json: settingsOf(oldConfig), deployed: createFingerprints(oldConfig) }),
      ).toEqual([]);
    },
  );

  it("applies the routes and peer-independent settings even for another peer", () => {
    const chosenKeys = { deadlineMs: 5000, questions: { answerBy: "anyone" } };
    const routes = [{ channel: "C1", destination: "far" }];
    const json = settingsOf(configOfFar({ ...movedDestination, ...chosenKeys }, routes));
    expect(withLiveSettings({ config: oldConfig, json })).toEqual(
      configOfFar({ ...far, ...chosenKeys }, routes),
    );
  });

  it("ignores an address without a fingerprint", () => {
    const json = { destinations: { far: { url: "https://b.example/" } } };
    expect(withLiveSettings({ config: oldConfig, json })).toEqual(oldConfig);
  });
});

function configOfFar(destination: object, routes: object[] = [{ destination: "far" }]) {
  return parseConfig({ json: { destinations: { far: destination }, routes } });
}

/** Settings of a version that has a destination and a field more. */
function withNew(routes: unknown) {
  return {
    destinations: { new: { deadlineMs: 5000 }, far: { deadlineMs: 5000, priority: 3 } },
    routes,
  };
}

function arn(): string {
  return "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123";
}

describe("the live settings with agents by name", () => {
  const json = {
    execution: { agents: { ops: "./ops.ts", research: "./research.ts" } },
    destinations: {
      far,
      research: { transport: "in-process", agent: "research" },
    },
    routes: [{ destination: "far" }],
  };
  const stages = {
    dev: {
      verification: { account: "111111111111", region: "eu-central-1" },
      execution: { kind: "external" },
    },
  };
  const stageConfig = createStageConfig({
    config: parseConfig({ json: { ...json, stages } }),
    stageName: "dev",
  });

  it("takes effect in the functions of a stage that deploys no agent", () => {
    const config = JSON.parse(JSON.stringify(entries.worker.cutConfig?.(stageConfig)));
    const merged = withLiveSettings({ config, json: toLiveSettings(stageConfig) });
    expect(Object.keys(merged.destinations)).toEqual(["ops", "far"]);
  });

  it("adds no destination that a stage has not", () => {
    const merged = withLiveSettings({ config: stageConfig, json: {} });
    expect(Object.keys(merged.destinations)).toEqual(Object.keys(stageConfig.destinations));
  });
});
