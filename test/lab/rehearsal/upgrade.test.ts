/** The live settings while a stage is upgraded from the version that kept them in a parameter of Systems Manager. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { DynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createReadFormer } from "@sekisho/verification/config/former-settings.ts";
import {
  createReadLiveSettings,
  parseStoredSettings,
} from "@sekisho/verification/config/stored-settings.ts";
import { synthInto } from "../../cdk/synth.ts";
import { openCountingDynamoDb } from "../../doubles/aws/counting-dynamodb.ts";
import { createParameters, openParameters, type Parameters } from "../../doubles/aws/parameters.ts";
import { pushSettings } from "../../doubles/aws/pushed-settings.ts";
import { openStack, type Template } from "./template/stack-updates.ts";

const stages = ["production", "other"] as const;
type Stage = (typeof stages)[number];
const recorded = (stage: Stage) =>
  readJson(join(__dirname, `../../fixtures/stage/${stage}.template.json`)) as Template;
const operator = "arn:aws:iam::111111111111:user/operator";
const pushed = JSON.stringify({ routes: [{ destination: "far" }] });
const tags = { team: "a" };
const changedTags = { team: "b" };

let upgraded: Record<Stage, Template>;
beforeAll(async () => {
  const configs = readJson(join(__dirname, "../../fixtures/stage/configs.json")) as Record<
    Stage,
    unknown
  >;
  const directory = await synthInto({ configs, stageName: "dev" });
  const readValue = (stage: Stage) =>
    readJson(join(directory, stage, "Verification.template.json")) as Template;
  upgraded = { production: readValue("production"), other: readValue("other") };
  rmSync(directory, { recursive: true, force: true });
});

let parameters: Parameters;
let database: ReturnType<typeof openCountingDynamoDb>;
let stack: ReturnType<typeof openStack>;
let parameter: string;

beforeEach(() => {
  parameters = createParameters();
  database = openCountingDynamoDb();
  stack = openStack({
    name: "Sekisho-dev-Verification",
    account: "111111111111",
    region: "eu-central-1",
    parameters,
  });
});
afterEach(() => database.close());

/** Deploys the recorded stage, and pushes as its version did. */
async function deployRecorded(stage: Stage): Promise<void> {
  await stack.deploy({ template: recorded(stage), tags });
  parameter = stack.nameOf("LiveSettings");
  pushFormerly(pushed);
}

function pushFormerly(value: string): void {
  parameters.put({ name: parameter, value, user: operator });
}

/** A worker of the version before, which reads the parameter each time. */
const readAsBefore = async () => parameters.valueOf(parameter);

/** A worker of this version that has just started. */
function startWorker(client: DynamoDb = database.client): () => Promise<string> {
  const store = createDynamoTaskStore({ client, table: "tasks", parse: parseStoredSettings });
  return createReadLiveSettings({
    store,
    readFormer: createReadFormer({ ssm: openParameters(parameters), name: parameter }),
    log: silentLog,
  });
}

const idOf = (template: Template, pattern: RegExp) =>
  Object.keys(template.Resources).find((id) => pattern.test(id)) ?? "none";

/** Deploys, and calls `look` before, after each step and at the end. Resolves to what it saw. */
async function lookDuring(request: {
  deploy: { template: Template; tags: Record<string, string>; failsAt?: string };
  look: (code: "before" | "upgraded") => Promise<unknown[]>;
}): Promise<{ settings: Set<unknown>; steps: number; isDone: boolean }> {
  const { deploy, look } = request;
  const workerId = idOf(deploy.template, /^Worker[0-9A-F]{8}$/);
  const settings = new Set(await look("before"));
  let code: "before" | "upgraded" = "before";
  let steps = 0;
  const isDone = await stack.deploy({
    ...deploy,
    async onStep(id) {
      steps += 1;
      // A rollback brings the code of the version before back.
      if (id === workerId) code = code === "before" ? "upgraded" : "before";
      for (const each of await look(code)) settings.add(each);
    },
  });
  for (const each of await look(code)) settings.add(each);
  return { settings, steps, isDone };
}

describe.each(stages)("an upgrade of the stage %s", (stage) => {
  beforeEach(() => deployRecorded(stage));

  it("gives the workers of both versions the pushed settings at every step", async () => {
    const warm: (() => Promise<string>)[] = [];
    const { settings, steps } = await lookDuring({
      deploy: { template: upgraded[stage], tags },
      async look(code) {
        // Workers of the version before finish what they have begun.
        if (code === "upgraded") warm.push(startWorker());
        return Promise.all([readAsBefore, ...warm].map((readBody) => readBody()));
      },
    });
    expect([...settings]).toEqual([pushed]);
    expect(steps).toBeGreaterThan(0);
    expect(warm.length).toBeGreaterThan(0);
  });

  it("gives the upgraded workers the pushed settings although the tags change", async () => {
    const { settings } = await lookDuring({
      deploy: { template: upgraded[stage], tags: changedTags },
      look: async (code) => (code === "upgraded" ? [await startWorker()()] : []),
    });
    expect(await readAsBefore()).toBe("{}");
    expect([...settings]).toEqual([pushed]);
  });

  it("keeps the previous settings on a rollback, and takes over newer ones at the next try", async () => {
    const { Resources } = upgraded[stage];
    const failsAt = idOf(upgraded[stage], /^DeadLetterHandlerMessages/);
    const failing = { ...(Resources[failsAt] ?? { Type: "" }), Properties: { BatchSize: 7 } };
    const template = { Resources: { ...Resources, [failsAt]: failing } };
    const { settings, isDone } = await lookDuring({
      deploy: { template, tags, failsAt },
      look: async (code) =>
        code === "upgraded"
          ? [await startWorker()(), await readAsBefore()]
          : [await readAsBefore()],
    });
    expect(isDone).toBe(false);
    expect([...settings]).toEqual([pushed]);
    expect(await stored()).toBe(pushed);
    const newer = JSON.stringify({ routes: [{ destination: "home" }] });
    pushFormerly(newer);
    await stack.deploy({ template: upgraded[stage], tags });
    expect(await startWorker()()).toBe(newer);
  });

  it("finds the pushed settings after many changes of tags without a running worker", async () => {
    for (let count = 0; count < 60; count += 1)
      await stack.deploy({
        template: count < 5 ? recorded(stage) : upgraded[stage],
        tags: { count: String(count) },
      });
    expect(await startWorker()()).toBe(pushed);
  });

  it("keeps settings that are pushed afterwards, regardless of the parameter", async () => {
    await stack.deploy({ template: upgraded[stage], tags });
    expect(await startWorker()()).toBe(pushed);
    const newer = JSON.stringify({ routes: [{ destination: "home" }] });
    await pushSettings({ client: database.client, settings: newer });
    await stack.deploy({ template: upgraded[stage], tags: changedTags });
    pushFormerly(pushed);
    expect(await startWorker()()).toBe(newer);
  });

  it("keeps a parameter that the following release no longer defines", async () => {
    const { LiveSettings: _dropped, ...Resources } = upgraded[stage].Resources;
    await stack.deploy({ template: upgraded[stage], tags });
    await stack.deploy({ template: { Resources }, tags });
    expect(await readAsBefore()).toBe(pushed);
  });

  it("changes no property of the parameter, so that CloudFormation keeps its value", () => {
    expect(upgraded[stage].Resources.LiveSettings?.Properties).toEqual(
      recorded(stage).Resources.LiveSettings?.Properties,
    );
  });
});

async function stored(): Promise<string | undefined> {
  const store = createDynamoTaskStore({
    client: database.client,
    table: "tasks",
    parse: parseStoredSettings,
  });
  return (await store.get({ id: "live-settings" }))?.settings;
}

describe("the double of CloudFormation", () => {
  it("overwrites a pushed value when a deploy changes only tags", async () => {
    await deployRecorded("other");
    await stack.deploy({ template: recorded("other"), tags });
    expect(await readAsBefore()).toBe(pushed);
    await stack.deploy({ template: recorded("other"), tags: changedTags });
    expect(await readAsBefore()).toBe("{}");
  });

  it.each([
    ["other", undefined],
    ["production", pushed],
  ] as const)(
    "follows the deletion policy of the stage %s when a template drops a resource",
    async (stage, left) => {
      await deployRecorded(stage);
      const { LiveSettings: _dropped, ...Resources } = upgraded[stage].Resources;
      await stack.deploy({ template: { Resources }, tags });
      expect(await readAsBefore()).toBe(left);
    },
  );

  it("writes the template's value again when it rolls a parameter back", async () => {
    await deployRecorded("other");
    const failsAt = idOf(recorded("other"), /^Worker[0-9A-F]{8}$/);
    expect(await stack.deploy({ template: recorded("other"), tags: changedTags, failsAt })).toBe(
      false,
    );
    expect(await readAsBefore()).toBe("{}");
  });
});

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
