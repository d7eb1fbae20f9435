/** `sekisho data show` and `data delete` against what a zone has stored, the same on both engines. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { executionOutputs } from "@sekisho/cdk/names.ts";
import { parseRecord } from "@sekisho/sekisho/tasks/stored-task.ts";
import { parseFormerEntry } from "@sekisho/sekisho/usage/former-history.ts";
import {
  noStoredRules,
  parseStoredRules,
  storedRulesId,
} from "@sekisho/verification/gate/rules.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { sampleAsk, sampleCall, sampleTask } from "../../verification/task/sample.ts";
import { executionAccount, verificationAccount } from "../aws/a-stage.ts";
import { failing, printing, refusing } from "../aws/command-here.ts";
import { openAwsPlace, openSqlitePlace, places, type TestPlace } from "../tasks/places.ts";
import { sampleFormerEntry } from "../usage/former-entry.ts";

const nowMs = Date.now();
const dayMs = 24 * 3600_000;
const secretText = "a text that nobody may read";

/** All tests of a place share its store: each has people and ids of its own. */
let count = 0;

const idOf = (number: number) =>
  `${String(count).padStart(4, "0")}000${number}-0000-5000-8000-000000000000`;
const me = () => `U1A${count}`;
const other = () => `U2B${count}`;
const who = () => ["--team", "T1", "--user", me()];
let place: TestPlace;

beforeEach(() => {
  count += 1;
});

const data = (...args: string[]) => place.command("data", ...args);

async function keep(
  number: number,
  { user = me(), ...changes }: Partial<Task> & { user?: string } = {},
) {
  const { message } = sampleTask();
  const task = sampleTask({
    ...{
      id: idOf(number),
      state: "done",
      cleanupDone: true,
      principal: `T1/${user}`,
      call: sampleCall({ destination: "far" }),
    },
    ...{ receivedAtMs: nowMs - 1000, expiresAtMs: nowMs + 20 * dayMs },
    message: { ...message, user, text: secretText },
    ...changes,
  });
  await place.engine.taskStore({ parse: (json) => taskSchema.parse(json) }).create({ item: task });
  const entry = sampleFormerEntry({
    ...{ requestId: task.id, user, listedAtMs: nowMs },
    texts: { question: secretText, answer: secretText },
  });
  const store = place.engine.taskStore({ parse: parseFormerEntry });
  if (task.state === "done") await store.create({ item: entry });
}

async function keepRule() {
  const store = place.engine.taskStore({ parse: parseStoredRules });
  const rules = [{ rule: { user: me() }, number: 7, addedAtMs: nowMs }];
  const cachedValue = await store.get({ id: storedRulesId });
  if (cachedValue === undefined)
    await store.create({ item: { ...noStoredRules(), lastNumber: 7, rules } });
  else await store.replace({ item: { ...cachedValue, rules } });
}

async function everything(): Promise<string> {
  const store = place.engine.taskStore({ parse: parseRecord });
  const keys = [
    "done",
    "waiting",
    "usage",
    "allowlist",
    `history/${new Date(nowMs).toISOString().slice(0, 10)}`,
  ];
  const pages = await Promise.all(
    keys.map((key) => store.list({ index: "state", key, limit: 50 })),
  );
  return JSON.stringify(pages.flatMap(({ items }) => items));
}

describe.each(places)("sekisho data at $name", ({ open }) => {
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.close());

  it("deletes the data of only one person, and runs again safely", async () => {
    await keep(1);
    await keep(2, {
      receivedAtMs: nowMs - 3 * dayMs,
      history: [{ atMs: nowMs - 3 * dayMs, event: "e", state: "done" }],
    });
    await keep(3, { user: other() });
    await keepRule();
    const first = await data("delete", ...who(), "--yes");
    expect(first.stdout).toContain("Deleted");
    expect(first.stdout).toContain("Rules that name the person are left: #7.");
    expect(await everything()).toContain(other());
    const again = await data("delete", ...who(), "--yes", "--rules");
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/tasks +0$/m);
    const left = await everything();
    expect(left).not.toContain(me());
    expect(left).toContain(idOf(1));
    expect(left).not.toContain(idOf(2));
    expect((await place.command("usage", "--json")).stdout).toContain(other());
  });
});

describe("sekisho data", () => {
  beforeAll(async () => {
    place = await openSqlitePlace();
  });
  afterAll(() => place.close());

  it("counts the data, shows no texts and deletes nothing", async () => {
    await keep(1);
    await keep(2, { user: other() });
    await keepRule();
    const recordsBefore = await everything();
    const result = await data("show", ...who(), "--json");
    expect(JSON.parse(result.stdout)).toMatchObject({
      tasks: 1,
      underWay: 0,
      history: 1,
      quotas: 0,
      rules: [7],
    });
    const { stdout } = await data("show", ...who());
    expect(stdout).toMatch(/rules of `sekisho allow` +#7$/m);
    expect(result.stdout + stdout).not.toContain(secretText);
    expect(await everything()).toBe(recordsBefore);
  });

  it("stops if a task of the person is running, and suggests --cancel", async () => {
    await keep(1, { state: "waiting", cleanupDone: false });
    const recordsBefore = await everything();
    const { code, stderr } = await data("delete", ...who(), "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain(
      `These tasks are running, or ended within the last minutes: ${idOf(1)}`,
    );
    expect(stderr).toContain("with --cancel");
    expect(await everything()).toBe(recordsBefore);
  });

  it("reports an answer that stays in a running task of another person", async () => {
    const answer = {
      user: me(),
      atMs: 1,
      option: 0,
      callId: "c",
      arrival: { type: "arrived" as const },
    };
    const question = { index: 0, prompt: "", options: [], askedAtMs: 1, expiresAtMs: 2, answer };
    await keep(1);
    await keep(2, { user: other(), state: "waiting", cleanupDone: false, question });
    const { code, stdout, stderr } = await data("delete", ...who(), "--yes");
    expect(code).toBe(1);
    expect(stdout).toMatch(/others' tasks +1$/m);
    expect(stdout).toContain("Deleted, except answers in running tasks of others.");
    expect(stderr).toContain(`left in running tasks of other people: ${idOf(2)}`);
    expect((await data("show", ...who(), "--json")).stdout).toContain('"tasks":0');
  });

  it("keeps a record of a recent task, which explains the deletion and refuses a retry", async () => {
    await keep(1);
    await data("delete", ...who(), "--yes");
    for (const command of ["retry", "cancel", "show"]) {
      const { code, stderr } = await place.tasks(command, idOf(1));
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/data of task .* was deleted/),
      });
    }
    const { queue } = place.engine.taskQueue({ maxReceiveCount: 5 });
    expect(await queue.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 0 })).toEqual([]);
  });

  it("reports that no data was found, and names the workspaces that know the user", async () => {
    await keep(1);
    const { code, stdout, stderr } = await data("delete", "--team", "T9", "--user", me(), "--yes");
    expect(code).toBe(0);
    expect(stdout).not.toContain("Deleted");
    expect(stdout).toContain(`No data of T9/${me()} was found.`);
    expect(stderr).toContain("There are tasks of this user under another workspace: --team T1.");
    expect((await data("show", "--team", "T9", "--user", me())).stderr).toContain("--team T1.");
  });

  it("requires --yes without a terminal", async () => {
    await keep(1);
    const { code, stderr } = await data("delete", ...who());
    expect(code).toBe(2);
    expect(stderr).toContain("Give --yes to delete");
    expect(await everything()).toContain(me());
  });

  it.each([
    [["delete", "--team", "T1"], "--team T and --user U are needed"],
    [["show", "--team", "T1", "--user", "@me"], "--team T and --user U are needed"],
  ])("refuses the arguments %j", async (args, why) => {
    expect(await data(...args)).toMatchObject(refusing(2, why));
  });
});

const whoInStage = ["--team", "T1", "--user", "U1"];
const id = "00000001-0000-5000-8000-000000000000";

(whyNoDynamoDb === undefined ? describe : describe.skip)(
  "sekisho data at a stage in two accounts",
  () => {
    let place: TestPlace;
    beforeAll(async () => {
      place = await openAwsPlace();
    });
    afterAll(() => place.close());

    const servicesOf = () => {
      if (place.aws === undefined) throw new Error("the place is on AWS");
      return place.aws;
    };
    const records = () => place.engine.taskStore({ parse: parseRecord });

    it("deletes the person's dead letters, and prints a command for the data that it cannot reach", async () => {
      const { message } = sampleTask();
      const times = { receivedAtMs: nowMs - 1000, expiresAtMs: nowMs + dayMs };
      const mine = {
        id,
        state: "done",
        cleanupDone: true,
        principal: "T1/U1",
        message: { ...message, user: "U1" },
      } as const;
      await place.engine
        .taskStore({ parse: (json) => taskSchema.parse(json) })
        .create({ item: sampleTask({ ...mine, ...times }) });
      await records().create({
        item: {
          id: "e1",
          revision: 1,
          state: "completed",
          requestId: id,
          expiresAtMs: nowMs + dayMs,
        },
      });
      const { deadLetters } = place.engine.taskQueue({ maxReceiveCount: 5 });
      const ask = sampleAsk();
      for (const user of ["U1", "U2"]) {
        await deadLetters.send({
          body: JSON.stringify({ ...ask, message: { ...ask.message, user } }),
        });
      }
      const result = JSON.parse(
        (await place.command("data", "show", ...whoInStage, "--json")).stdout,
      );
      expect(result).toMatchObject({ tasks: 1, deadLetters: 1 });
      expect(result.execution).toContain(`in account ${executionAccount}`);

      const { code, stdout, stderr } = await place.command(
        "data",
        "delete",
        ...whoInStage,
        "--yes",
      );
      expect(code).toBe(1);
      expect(stdout).toContain("Deleted, except the Execution zone's records.");
      const [, file = ""] =
        /--request-ids (\S+) --stage prod --config \S+ --yes/.exec(stderr) ?? [];
      expect(readFileSync(file, "utf8")).toBe(`${id}\n`);
      const letters = await deadLetters.receive({
        max: 10,
        visibilityTimeoutMs: 1000,
        waitMs: 1000,
      });
      expect(letters.map(({ body }) => JSON.parse(body).message.user)).toEqual(["U2"]);
      expect(await records().get({ id })).toMatchObject({ principal: "" });
      expect(await records().get({ id: "e1" })).toBeDefined();

      const aws = servicesOf();
      const table = aws.stacks.get("Sekisho-prod-Verification")?.TableName ?? "";
      aws.stacks.set("Sekisho-prod-Execution", { [executionOutputs.tableName]: table });
      expect(await place.command("data", "delete", "--request-ids", file, "--yes")).toMatchObject(
        failing(1, `these credentials are of ${verificationAccount}`),
      );
      aws.account = executionAccount;
      const deleted = await place.command("data", "delete", "--request-ids", file, "--yes");
      aws.account = verificationAccount;
      expect(deleted).toMatchObject(printing("Deleted 1 of 1 records"));
      expect(await records().get({ id: "e1" })).toBeUndefined();
    });

    it("refuses a file that does not hold request ids", async () => {
      const file = join(place.folder, "two.json");
      expect(await place.command("data", "delete", "--request-ids", file, "--yes")).toMatchObject(
        failing(2, "does not hold request ids, one per line"),
      );
    });
  },
);
