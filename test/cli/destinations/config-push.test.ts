import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createFingerprints, withLiveSettings } from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { jsonChanges, planPush } from "@sekisho/sekisho/destinations/push-live-settings.ts";
import fc from "fast-check";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { pushedSettings } from "../../doubles/aws/pushed-settings.ts";
import {
  cloudFormation,
  deploy,
  executionAccount,
  formerParameter,
  pushFormerly,
  twoAccounts,
  verificationAccount,
  writeConfig,
} from "../aws/a-stage.ts";
import { commandHere, failing, printing } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";

const { folder, run } = commandsInFolder();

let aws: AwsServices;
beforeEach(async () => {
  aws = await startAwsServices({ account: verificationAccount });
  deploy({ aws, json: twoAccounts });
});
afterEach(() => aws.close());

function push(json: unknown, ...args: string[]) {
  const config = writeConfig({ folder, name: "pushed.json", json });
  return commandHere(["config", "push", "--config", config, ...args], aws.env);
}

function withFar(changes: Record<string, unknown>) {
  const { local, far } = twoAccounts.destinations;
  return { ...twoAccounts, destinations: { local, far: { ...far, ...changes } } };
}

const stored = async () => JSON.parse((await pushedSettings({ client: aws.table })) ?? "{}");

describe("sekisho config push", () => {
  it("pushes changed routes and live fields to the deployed worker, and shows the changes", async () => {
    await push(twoAccounts);
    const changed = { ...withFar({ deadlineMs: 60_000 }), routes: [{ destination: "far" }] };
    const result = await push(changed);
    expect(result).toMatchObject(printing("14400000 -> 60000"));
    const deployed = createStageConfig({
      config: parseConfig({ json: twoAccounts }),
      stageName: "prod",
    });
    const live = withLiveSettings({ config: deployed, json: await stored() });
    expect(live.routes).toEqual([{ destination: ["far"] }]);
    expect(live.destinations.far?.deadlineMs).toBe(60_000);
    const config = writeConfig({ folder, name: "again.json", json: changed });
    const again = await run(["config", "push", "--config", config], aws.env);
    expect(again).toMatchObject({ code: 0, stdout: "Nothing changes.\n" });
  });

  it("warns about tasks at the old address if the address of a destination changes", async () => {
    await push(twoAccounts);
    const moved = await push(withFar({ url: "https://farther.example/rpc" }));
    expect(moved).toMatchObject(failing(0, "the address of far changes"));
    const other = await push(withFar({ url: "https://farther.example/rpc", deadlineMs: 60_000 }));
    expect(other).toMatchObject({ code: 0, stderr: "" });
  });

  it("warns about tasks at the old agent card if the card changes", async () => {
    const agent = { transport: "a2a", url: undefined, card: "https://far.example/card.json" };
    deploy({ aws, json: withFar(agent) });
    await push(withFar(agent));
    const same = await push(withFar({ ...agent, version: "0.3" }));
    expect(same).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining('version: "highest" -> "0.3"'),
    });
    const moved = await push(withFar({ ...agent, card: "https://farther.example/card.json" }));
    expect(moved).toMatchObject(failing(0, "the address of far changes"));
  });

  it("--dry-run shows the changes and writes nothing", async () => {
    const result = await push(withFar({ deadlineMs: 60_000 }), "--dry-run");
    expect(result).toMatchObject(printing("destinations.far.deadlineMs: 60000"));
    expect(await stored()).toEqual({});
  });

  it("refuses and names a destination that needs a deploy if a route leads there", async () => {
    const functionArn = "arn:aws:lambda:eu-west-1:222222222222:function:host";
    const json = withFar({
      authorizer: { type: "sigv4", service: "lambda", region: "eu-west-1", functionArn },
    });
    const result = await push(json);
    expect(result).toMatchObject(failing(1, "need a deploy first: far (a route leads there)."));
    expect(await stored()).toEqual({});
  });

  it("leaves out a destination that needs a deploy if no route uses it, and pushes the rest", async () => {
    const { far } = twoAccounts.destinations;
    const changed = withFar({ deadlineMs: 60_000 });
    const json = {
      ...changed,
      destinations: { ...changed.destinations, further: { ...far, url: "https://new.example/" } },
    };
    expect(await push(json)).toMatchObject(failing(0, "further is left out"));
    const deployed = createStageConfig({
      config: parseConfig({ json: twoAccounts }),
      stageName: "prod",
    });
    const live = withLiveSettings({ config: deployed, json: await stored() });
    expect(live.destinations.far?.deadlineMs).toBe(60_000);
  });

  it("accepts up to 64 KB, and refuses more", async () => {
    const routes = (count: number) => [
      ...Array.from({ length: count }, (_, index) => ({
        channel: `C${1000 + index}`,
        destination: "far",
      })),
      { destination: "local" },
    ];
    expect(await push({ ...twoAccounts, routes: routes(1000) })).toMatchObject({ code: 0 });
    expect((await stored()).routes).toHaveLength(1001);
    expect(await push({ ...twoAccounts, routes: routes(2000) })).toMatchObject(
      failing(1, "At most 65536"),
    );
    expect((await stored()).routes).toHaveLength(1001);
  });

  it("compares with the settings that an older version pushed, and replaces them", async () => {
    const far = { deadlineMs: 60_000, url: "https://moved.example/" };
    pushFormerly(aws, JSON.stringify({ routes: [{ destination: "far" }], destinations: { far } }));
    aws.parameters.put({ name: formerParameter, value: "{}", user: cloudFormation });
    const dryRun = await push(withFar({ deadlineMs: 60_000 }), "--dry-run");
    expect(dryRun.stdout).toContain('routes[0].destination: "far"');
    expect(dryRun).toMatchObject(failing(0, "the address of far changes"));
    expect(await stored()).toEqual({});
    await push(withFar({ deadlineMs: 60_000 }));
    expect((await stored()).destinations.far).toMatchObject({
      deadlineMs: 60_000,
      url: "https://far.example/rpc",
    });
    const calls = aws.calls.length;
    await push(withFar({ deadlineMs: 60_000 }));
    expect(aws.calls.slice(calls).map(({ action }) => action)).not.toContain("ssm:GetParameter");
  });

  it("refuses a stage of an older version, whose workers do not read the push", async () => {
    const stackName = "Sekisho-prod-Verification";
    const { FormerLiveSettings: RoutesParameter = "", ...outputs } =
      aws.stacks.get(stackName) ?? {};
    aws.stacks.set(stackName, { ...outputs, RoutesParameter });
    const result = await push(withFar({ deadlineMs: 60_000 }));
    expect(result).toMatchObject(
      failing(1, "Deploy this version first (npx cdk deploy --all -c stage=prod)"),
    );
    expect(await stored()).toEqual({});
  });

  it.each([
    [
      "of a newer version",
      { settings: "{}", recordVersion: "2.0.0" },
      "newer version of Sekisho has written this record",
    ],
    [
      "that is damaged",
      { settings: {}, recordVersion: "1.0.0" },
      "the record in the table is damaged. Restore or delete",
    ],
  ])(
    "explains what to do about a stored record %s, and does not change it",
    async (_title, content, advice) => {
      const data = {
        id: "live-settings",
        revision: 1,
        state: "live_settings",
        expiresAtMs: 253_370_764_800_000,
        ...content,
      };
      const Item = {
        id: { S: data.id },
        revision: { N: "1" },
        expiresAtMs: { N: String(data.expiresAtMs) },
        data: { S: JSON.stringify(data) },
      };
      await aws.table.call("PutItem", { TableName: "tasks", Item });
      expect(await push(twoAccounts)).toMatchObject(failing(1, advice));
      const { Item: newValue } = await aws.table.call("GetItem", {
        TableName: "tasks",
        Key: { id: Item.id },
        ConsistentRead: true,
      });
      expect(newValue).toEqual(Item);
    },
  );

  it("writes nothing if somebody else pushes at the same time", async () => {
    await push(twoAccounts);
    const call = aws.table.call.bind(aws.table);
    const other = await call("GetItem", {
      TableName: "tasks",
      Key: { id: { S: "live-settings" } },
      ConsistentRead: true,
    });
    aws.table.call = async (operation, input, limits) => {
      if (operation === "UpdateItem") {
        const Item = { ...other.Item, revision: { N: "9" } };
        await call("PutItem", { TableName: "tasks", Item });
      }
      return call(operation, input, limits);
    };
    const textBefore = await stored();
    const result = await push(withFar({ deadlineMs: 60_000 }));
    expect(result).toMatchObject(
      failing(1, "have changed since they were read. Nothing was written."),
    );
    expect(await stored()).toEqual(textBefore);
  });

  it("reports that the stage is not deployed, or that the credentials are of the other account", async () => {
    aws.stacks.clear();
    expect(await push(twoAccounts)).toMatchObject(failing(1, "npx cdk deploy --all"));
    aws.account = executionAccount;
    const result = await push(twoAccounts);
    expect(result).toMatchObject(failing(1, `AWS_PROFILE to a profile of ${verificationAccount}`));
    expect(result.stderr).toContain("the Execution zone's");
  });
});

describe("sekisho manifest of a stage", () => {
  it("prints a manifest with the address of the stack, unless --url gives another", async () => {
    const config = writeConfig({ folder, name: "manifest.json", json: twoAccounts });
    const urlOf = async (...args: string[]) => {
      const result = await commandHere(["manifest", "--config", config, ...args], aws.env);
      return JSON.parse(result.stdout).settings.event_subscriptions.request_url;
    };
    expect(await urlOf()).toBe(
      "https://abc123.execute-api.eu-central-1.amazonaws.com/slack/events",
    );
    expect(await urlOf("--url", "https://own.example")).toBe("https://own.example/slack/events");
    expect((await run(["manifest", "--stage", "prod"], aws.env)).code).toBe(2);
  });
});

describe("the changes between two JSON values", () => {
  it("lists changes between two JSON values exactly if they differ", () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 2 }),
      fc.array(fc.integer({ min: 0, max: 2 })),
    );
    const object = fc.dictionary(fc.constantFrom("a", "b", "c"), value, { noNullPrototype: true });
    fc.assert(
      fc.property(object, object, (oldValue, newValue) => {
        expect(jsonChanges({ before: oldValue, after: newValue }).length === 0).toBe(
          isDeepStrictEqual(oldValue, newValue),
        );
      }),
    );
  });

  it("lists added, removed and changed JSON values", () => {
    const before = { routes: [{ destination: "a" }, { destination: "b" }], gone: 1 };
    const after = { routes: [{ destination: "c" }], added: { deep: true } };
    expect(jsonChanges({ before, after })).toEqual([
      '  routes[0].destination: "a" -> "c"',
      '- routes[1].destination: "b"',
      "- gone: 1",
      "+ added.deep: true",
    ]);
  });
});

const bearer = (name: string) => ({ type: "bearer", token: { env: name } });
const at = (host: string) => ({
  transport: "https",
  url: `https://${host}.example/`,
  authorizer: bearer("TOKEN"),
});
const near = at("near");
const far = at("far");

function configOf(
  destinations: Record<string, object>,
  routes: object[] = [{ destination: "near" }],
) {
  return parseConfig({ json: { destinations, routes } });
}
const deployed = createFingerprints(configOf({ near, far }));
/** Needs a deploy, because it is called with another token. */
const changed = { ...far, authorizer: bearer("OTHER_TOKEN") };

const plan = (
  destinations: Record<string, object>,
  { routes, before: oldValue = {} }: { routes?: object[]; before?: unknown } = {},
) => planPush({ config: configOf(destinations, routes), deployed, before: oldValue });

describe("a push to a stage whose deployed destinations are not all those of the file", () => {
  it("pushes everything if everything is deployed", () => {
    const { settings, refused: refusal, leftOut } = plan({ near, far });
    expect({ refused: refusal, leftOut }).toEqual({ refused: [], leftOut: [] });
    expect(settings).toMatchObject({
      routes: [{ destination: ["near"] }],
      destinations: { near: {}, far: {} },
    });
  });

  it.each([
    ["first destination", [{ channel: "C1", destination: "far" }, { destination: "near" }]],
    ["fallback of another", [{ destination: ["near", "far"] }]],
  ])("refuses a route to a destination that needs a deploy as the %s", (_what, routes) => {
    expect(plan({ near, far: changed }, { routes }).refused).toEqual([
      { name: "far", why: "a route leads there" },
    ]);
  });

  it("leaves out a destination that was never deployed, if no route names it", () => {
    const {
      settings,
      refused: refusal,
      leftOut,
    } = plan({ near, further: at("further") }, { before: { destinations: "?" } });
    expect({ refused: refusal, leftOut }).toEqual({ refused: [], leftOut: ["further"] });
    expect(Object.keys(settings.destinations ?? {})).toEqual(["near"]);
  });

  it("keeps the pushed settings of a destination that is deployed differently, if no route names it", () => {
    const pushed = { url: "https://moved.example/", deadlineMs: 60_000 };
    const {
      settings,
      refused: refusal,
      leftOut,
    } = plan(
      { near, far: { ...changed, ...pushed } },
      { before: { destinations: { far: pushed, gone: { deadlineMs: 1000 } } } },
    );
    expect({ refused: refusal, leftOut }).toEqual({ refused: [], leftOut: ["far"] });
    expect(settings.destinations).toMatchObject({ near: {}, far: pushed });
    expect(settings.destinations).not.toHaveProperty("gone");
  });

  it("keeps the pushed settings of a deployed destination that the file omits, for its tasks", () => {
    const pushed = { url: "https://moved.example/" };
    expect(
      plan({ near }, { before: { destinations: { far: pushed } } }).settings.destinations?.far,
    ).toEqual(pushed);
  });

  it("refuses a field that differs from the pushed one for a destination that needs a deploy", () => {
    const before = { destinations: { far: { url: far.url, deadlineMs: 60_000 } } };
    const { refused: refusal } = plan(
      { near, far: { ...changed, deadlineMs: 90_000 } },
      { before },
    );
    expect(refusal).toEqual([{ name: "far", why: "another deadlineMs" }]);
  });
});
