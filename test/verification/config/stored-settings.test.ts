/** The record of the live settings, and how it takes over what was in a parameter of Systems Manager. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import { createReadFormer, type Ssm } from "@sekisho/verification/config/former-settings.ts";
import {
  createReadLiveSettings,
  parseStoredSettings,
  readSettings,
  saveSettings,
} from "@sekisho/verification/config/stored-settings.ts";
import { openCountingDynamoDb } from "../../doubles/aws/counting-dynamodb.ts";
import { createParameters, openParameters } from "../../doubles/aws/parameters.ts";
import { collectLog } from "../../doubles/collect-log.ts";

const name = "CFN-LiveSettings-abc";
const template =
  "arn:aws:sts::111111111111:assumed-role/cdk-hnb659fds-cfn-exec-role/AWSCloudFormation";
const person = "arn:aws:iam::111111111111:user/operator";

let parameters: ReturnType<typeof createParameters>;
let database: ReturnType<typeof openCountingDynamoDb>;
let calls: string[];
let failure: Error | undefined;

beforeEach(() => {
  parameters = createParameters();
  database = openCountingDynamoDb();
  calls = [];
  failure = undefined;
});
afterEach(() => database.close());

const ssm: Ssm = {
  async call(operation, input) {
    calls.push(operation);
    if (failure !== undefined) throw failure;
    return openParameters(parameters).call(operation, input);
  },
};
const readFormer = createReadFormer({ ssm, name });
const store = () =>
  createDynamoTaskStore({ client: database.client, table: "tasks", parse: parseStoredSettings });

/** As this version pushes where nothing is stored. */
function push(settings: string): Promise<unknown> {
  return saveSettings({
    store: store(),
    storedRecord: undefined,
    settings,
    formerVersion: undefined,
  });
}

function put(...versions: [value: string, user: string][]): void {
  for (const [value, user] of versions) parameters.put({ name, value, user });
}

describe("the former live settings", () => {
  it.each([
    { title: "are none where nobody pushed", versions: [["{}", template]], found: undefined },
    {
      title: "are none where only tags changed",
      versions: [
        ["{}", template],
        ["{}", template],
      ],
      found: undefined,
    },
    {
      title: "are the last push",
      versions: [
        ["{}", template],
        ["a", person],
        ["b", person],
      ],
      found: ["b", 3],
    },
    {
      title: "are the push that a change of tags wrote over",
      versions: [
        ["{}", template],
        ["a", person],
        ["{}", template],
        ["{}", template],
      ],
      found: ["a", 2],
    },
    {
      title: "are empty where a person dropped them, also if tags changed later",
      versions: [
        ["{}", template],
        ["a", person],
        ["{}", person],
        ["{}", template],
      ],
      found: ["{}", 3],
    },
  ] as const)("former settings $title", async ({ versions, found: current }) => {
    for (const [value, user] of versions) put([value, user]);
    const [settings, version] = current ?? [];
    expect(await readFormer()).toEqual(current && { settings, version });
  });

  it("finds no former settings if the parameter was deleted", async () => {
    expect(await readFormer()).toBeUndefined();
  });

  it("finds former settings among the hundred versions that Systems Manager keeps", async () => {
    put(["{}", template], ["a", person]);
    for (let count = 0; count < 99; count += 1) put(["{}", template]);
    expect(await readFormer()).toEqual({ settings: "a", version: 2 });
  });
});

describe("the worker", () => {
  function startWorker() {
    const { log, lines } = collectLog();
    return { read: createReadLiveSettings({ store: store(), readFormer, log }), lines };
  }

  it("takes over the former settings once and reads the parameter once per process", async () => {
    put(["{}", template], ["a", person]);
    const { read: readSettings, lines } = startWorker();
    expect([await readSettings(), await readSettings()]).toEqual(["a", "a"]);
    expect(calls).toEqual(["GetParameter"]);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ message: "live_settings_taken_over", version: 2 }),
    ]);
    const next = startWorker();
    expect([await next.read(), next.lines]).toEqual(["a", []]);
  });

  it("never overwrites a push of this version", async () => {
    put(["{}", template], ["a", person]);
    await push("b");
    put(["c", person]);
    expect(await startWorker().read()).toBe("b");
    expect(calls).toEqual([]);
  });

  it("uses a push that arrives while it takes over the former settings", async () => {
    put(["{}", template], ["a", person]);
    const racing = store();
    const create: typeof racing.create = async (request) => {
      await push("b");
      return racing.create(request);
    };
    const readSettings = createReadLiveSettings({
      store: { ...racing, create },
      readFormer,
      log: collectLog().log,
    });
    expect(await readSettings()).toBe("b");
  });

  it("takes over what the previous version pushed after a rollback", async () => {
    put(["{}", template], ["a", person]);
    await startWorker().read();
    put(["b", person]);
    expect(await startWorker().read()).toBe("b");
    expect(await store().get({ id: "live-settings" })).toMatchObject({
      settings: "b",
      formerVersion: 3,
    });
  });

  it("uses the settings it has taken over if the parameter cannot be read", async () => {
    put(["{}", template], ["a", person]);
    await startWorker().read();
    failure = new Error("throttled");
    expect(await startWorker().read()).toBe("a");
  });

  it("reads the parameter again after a failure and takes over a later push of the previous version", async () => {
    put(["{}", template], ["a", person]);
    await startWorker().read();
    put(["b", person]);
    const { read: readSettings } = startWorker();
    failure = new Error("throttled");
    expect(await readSettings()).toBe("a");
    failure = undefined;
    expect(await readSettings()).toBe("b");
  });

  it("fails if nothing is stored and the parameter is unreadable, and retries at the next read", async () => {
    put(["{}", template], ["a", person]);
    failure = new Error("throttled");
    const { read: readSettings } = startWorker();
    await expect(readSettings()).rejects.toThrow("throttled");
    failure = undefined;
    expect(await readSettings()).toBe("a");
  });

  it("uses settings that it cannot store and tries to store them at the next read", async () => {
    put(["{}", template], ["a", person]);
    const { log, lines } = collectLog();
    let isDown = true;
    const create: ReturnType<typeof store>["create"] = (request) =>
      isDown ? Promise.reject(new Error("down")) : store().create(request);
    const readSettings = createReadLiveSettings({ store: { ...store(), create }, readFormer, log });
    expect(await readSettings()).toBe("a");
    expect(lines.join()).toContain("live_settings_not_stored");
    isDown = false;
    expect(await readSettings()).toBe("a");
    expect(await store().get({ id: "live-settings" })).toMatchObject({ settings: "a" });
  });
});

describe("the record", () => {
  it("keeps the record out of every listing and never lets it expire", async () => {
    await push("{}");
    const key = { id: { S: "live-settings" } };
    const { Item = {} } = await database.client.call("GetItem", {
      TableName: "tasks",
      Key: key,
      ConsistentRead: true,
    });
    expect(Item).not.toHaveProperty("thread");
    expect(Item).not.toHaveProperty("principal");
    expect(Number(Item.ttl?.N)).toBe(Date.UTC(9999, 0) / 1000);
    const states = [
      "received",
      "queued",
      "sent",
      "waiting",
      "asking",
      "delivering",
      "done",
      "allowlist",
    ];
    for (const state of states)
      expect(await store().list({ index: "state", key: state, limit: 10 })).toEqual({ items: [] });
  });

  it("lets other readers read the former settings without a write", async () => {
    put(["{}", template], ["a", person]);
    expect(await readSettings({ store: store(), readFormer })).toEqual({
      storedRecord: undefined,
      settings: "a",
      formerVersion: 2,
    });
    expect(await store().get({ id: "live-settings" })).toBeUndefined();
  });
});
