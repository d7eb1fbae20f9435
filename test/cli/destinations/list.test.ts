/** `sekisho destinations list`, of this machine and of a stage. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createFingerprints } from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { listPossibleRoutes } from "@sekisho/sekisho/destinations/possible-routes.ts";
import { findRoute } from "@sekisho/verification/gate/rules.ts";
import fc from "fast-check";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { pushSettings } from "../../doubles/aws/pushed-settings.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { deploy, twoAccounts, verificationAccount, writeConfig } from "../aws/a-stage.ts";
import { commandHere, failing } from "../aws/command-here.ts";

const folder = folderOfFile();

const json = {
  destinations: {
    near: { transport: "https" },
    here: { transport: "in-process" },
    far: {
      transport: "https",
      url: "https://far.example/rpc",
      authorizer: { type: "bearer", token: { env: "FAR_TOKEN" } },
      deadlineMs: 120_000,
    },
    runtime: {
      transport: "agentcore",
      runtimeArn: "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123",
    },
  },
  routes: [
    { channel: "C1", word: "deploy", destination: ["far", "runtime"] },
    { channel: "C1", destination: "runtime" },
    { destination: "near" },
  ],
};

function list(of: unknown, args: string[], env: Record<string, string> = {}) {
  const config = writeConfig({ folder, name: "listed.json", json: of });
  return commandHere(["destinations", "list", "--config", config, ...args], env);
}

describe("sekisho destinations list", () => {
  it("shows each destination with the routes to it, and the routes in their order", async () => {
    const { code, stdout } = await list(json, [], { SEKISHO_EXECUTION_PORT: "8099" });
    expect(code).toBe(0);
    expect(stdout).toContain("near\n  https http://127.0.0.1:8099/\n  authorizer none\n");
    expect(stdout).toContain("route 1 (failover, choice 2), route 2");
    expect(stdout).toMatch(/ 1\. .*far, then runtime\n.* 2\. .*runtime\n.* 3\. .*near/);
  });

  it("shows the card of an A2A agent, and the address of its messages if that differs", async () => {
    const card = "https://far.example/.well-known/agent-card.json";
    const { authorizer } = json.destinations.far;
    const agent = { transport: "a2a", card, url: "https://far.example/a2a", authorizer };
    const of = { destinations: { own: { transport: "a2a" }, agent }, routes: [] };
    const { stdout } = await list(of, [], { SEKISHO_EXECUTION_PORT: "8099" });
    expect(stdout).toContain("own\n  a2a http://127.0.0.1:8099/\n  authorizer none\n");
    expect(stdout).toContain(
      `agent\n  a2a ${card}\n  messages to https://far.example/a2a\n  authorizer bearer\n  not idempotent\n`,
    );
  });

  it("shows that an agent behind another carrier than HTTPS speaks A2A", async () => {
    const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";
    const runtime = { transport: "agentcore", runtimeArn, protocol: "a2a" };
    const { stdout } = await list({ destinations: { runtime }, routes: [] }, []);
    expect(stdout).toContain(
      `runtime\n  agentcore (A2A) ${runtimeArn}\n  authorizer sigv4\n  not idempotent\n`,
    );
  });

  it("shows the routes that a message of a channel can take, as far as it is known", async () => {
    const { stdout } = await list(json, ["--channel", "C1"]);
    expect(stdout).toContain('if "deploy: ...": far, then runtime (route 1)\n  runtime (route 2)');
    const result = await list(json, [
      "--channel",
      "C1",
      "--team",
      "T1",
      "--text",
      "Deploy: the new one",
      "--json",
    ]);
    expect(JSON.parse(result.stdout).possible).toEqual([
      { position: 1, destination: ["far", "runtime"], certain: true },
    ]);
    const nowhere = await list({ ...json, routes: json.routes.slice(0, 2) }, ["--channel", "C2"]);
    expect(nowhere.stdout).toContain("nowhere: no route fits");
  });

  it("prints the same data with --json, and never the value of a secret", async () => {
    const { stdout } = await list(json, ["--json"], { FAR_TOKEN: "a-token-of-this-test" });
    const { destinations, routes } = JSON.parse(stdout);
    expect(destinations).toHaveLength(4);
    expect(destinations[3]).toEqual({
      name: "runtime",
      transport: "agentcore",
      protocol: "sekisho",
      address: json.destinations.runtime.runtimeArn,
      authorizer: "sigv4",
      idempotent: true,
      deadlineMs: 14_400_000,
      routes: [
        { position: 1, choice: 2 },
        { position: 2, choice: 1 },
      ],
      needsDeploy: false,
    });
    expect(routes).toHaveLength(3);
    expect(stdout).not.toContain("a-token-of-this-test");
  });
});

describe("sekisho destinations list --stage", () => {
  let aws: AwsServices;
  beforeEach(async () => {
    aws = await startAwsServices({ account: verificationAccount });
    deploy({ aws, json: twoAccounts });
  });
  afterEach(() => aws.close());
  const fingerprints = createFingerprints(
    createStageConfig({ config: parseConfig({ json: twoAccounts }), stageName: "prod" }),
  );
  const listed = (of: unknown, ...args: string[]) =>
    list(of, ["--stage", "prod", ...args], aws.env);

  it("shows the settings in effect: the deployed destinations with the pushed changes", async () => {
    const far = {
      fingerprint: fingerprints.far,
      deadlineMs: 60_000,
      url: "https://moved.example/",
    };
    const pushed = { routes: [{ destination: ["far", "local"] }], destinations: { far } };
    await pushSettings({ client: aws.table, settings: JSON.stringify(pushed) });
    const { stdout, stderr } = await listed(twoAccounts, "--json");
    const { stage, destinations, routes } = JSON.parse(stdout);
    expect(stage).toBe("prod");
    expect(routes).toEqual(pushed.routes);
    expect(destinations[1]).toMatchObject({
      name: "far",
      address: far.url,
      deadlineMs: 60_000,
      needsDeploy: false,
    });
    expect(stderr).toBe("");
  });

  it("shows the deployed address and a warning if another was pushed for another credential", async () => {
    const far = { fingerprint: "another", url: "https://moved.example/" };
    const value = JSON.stringify({ routes: twoAccounts.routes, destinations: { far } });
    await pushSettings({ client: aws.table, settings: value });
    const { stdout, stderr } = await listed(twoAccounts, "--json");
    const { destinations, outdated } = JSON.parse(stdout);
    expect(destinations[1]).toMatchObject({
      name: "far",
      address: twoAccounts.destinations.far.url,
    });
    expect(outdated).toEqual(["far"]);
    expect(stderr).toMatch(/settings of far are ignored, because another peer or credential/);
  });

  it("shows the address of the stage's own Execution zone from the stack", async () => {
    const unknown = await listed(twoAccounts);
    expect(unknown.stdout).toContain("https the stage's own Execution zone\n  authorizer sigv4");
    expect(unknown.stderr).toContain("No routes were pushed");
    const address = {
      transport: "https",
      url: "https://abc.lambda-url.eu-west-1.on.aws/",
      region: "eu-west-1",
      functionArn: "arn:aws:lambda:eu-west-1:222222222222:function:url",
    };
    deploy({ aws, json: twoAccounts, executionAddress: JSON.stringify(address) });
    const known = JSON.parse((await listed(twoAccounts, "--json")).stdout);
    expect(known.destinations[0]).toMatchObject({
      name: "local",
      address: address.url,
      authorizer: "sigv4",
    });
  });

  it("marks a destination that needs a deploy, and refuses a file without a deployed destination", async () => {
    const { local, far } = twoAccounts.destinations;
    const further = { ...far, url: "https://further.example/" };
    const { stdout } = await listed(
      { ...twoAccounts, destinations: { local, far, further } },
      "--json",
    );
    expect(JSON.parse(stdout).destinations[2]).toMatchObject({
      name: "further",
      needsDeploy: true,
    });
    const value = JSON.stringify({ destinations: { local: {}, far: {} } });
    await pushSettings({ client: aws.table, settings: value });
    const without = { ...twoAccounts, destinations: { local }, routes: [{ destination: "local" }] };
    expect(await listed(without)).toMatchObject(failing(1, "this file lacks: far"));
  });

  it("leaves out pushed settings for a destination that a rollback removed", async () => {
    const { local } = twoAccounts.destinations;
    const older = { ...twoAccounts, destinations: { local }, routes: [{ destination: "local" }] };
    deploy({ aws, json: older });
    const value = JSON.stringify({
      destinations: { local: { deadlineMs: 60_000 }, far: {} },
      routes: older.routes,
    });
    await pushSettings({ client: aws.table, settings: value });
    const { code, stdout } = await listed(older, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout).destinations).toMatchObject([{ name: "local", deadlineMs: 60_000 }]);
  });
});

const routes = [
  { channel: "C1", word: "deploy", destination: ["a", "b"] },
  { team: "T1", destination: ["c"] },
  { channel: "C1", destination: ["b"] },
  { destination: ["d"] },
];

describe("the routes of a message", () => {
  it("lists the routes that are possible for a partly known message, up to the first certain one", () => {
    expect(listPossibleRoutes({ routes, known: { channel: "C1" } })).toEqual([
      { position: 1, destination: ["a", "b"], certain: false },
      { position: 2, destination: ["c"], certain: false },
      { position: 3, destination: ["b"], certain: true },
    ]);
    expect(listPossibleRoutes({ routes, known: { channel: "C2", team: "T2" } })).toEqual([
      { position: 4, destination: ["d"], certain: true },
    ]);
    expect(listPossibleRoutes({ routes: routes.slice(0, 2), known: { channel: "C2" } })).toEqual([
      { position: 2, destination: ["c"], certain: false },
    ]);
  });

  it("lists the route that a message takes for every known part of the message", () => {
    const message = fc.record({
      team: fc.constantFrom("T1", "T2"),
      channel: fc.constantFrom("C1", "C2"),
      text: fc.constantFrom("Deploy: it", "it"),
    });
    const known = fc.subarray(["team", "channel", "text"] as const);
    fc.assert(
      fc.property(message, known, (values, names) => {
        const part = Object.fromEntries(names.map((name) => [name, values[name]]));
        const possible = listPossibleRoutes({ routes, known: part });
        expect(possible.map(({ destination }) => destination)).toContainEqual(
          findRoute({ routes, message: values }),
        );
        if (names.length === 3) expect(possible).toHaveLength(1);
      }),
    );
  });
});
