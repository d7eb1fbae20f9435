/** `sekisho tasks` with the names that Slack gives: of the local run, and of a stage. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import {
  botToken,
  type CalledSlack,
  channel,
  startCalledSlack,
} from "../../local/fake-slack/web-api.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { writeConfig } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";
import { openAwsPlace, openSqlitePlace, type TestPlace } from "./places.ts";

let slack: CalledSlack;
let place: TestPlace;
let task: Task;

beforeEach(async () => {
  slack = await startCalledSlack();
});
afterEach(async () => {
  await place.close();
  await slack.fakeSlack.close();
});

async function store(): Promise<void> {
  const times = { receivedAtMs: Date.now(), expiresAtMs: Date.now() + 3600_000 };
  const { message } = sampleTask();
  task = sampleTask({
    ...times,
    message: { ...message, channel, user: "UHANAKO", ts: slack.asked },
  });
  await place.engine.taskStore({ parse: (json) => taskSchema.parse(json) }).create({ item: task });
}

const linkOf = () =>
  `https://fake-slack.slack.com/archives/${channel}/p${slack.asked.replace(".", "")}`;

describe("names and links of the local run", () => {
  let withToken: (...args: string[]) => ReturnType<typeof commandHere>;
  let config: string[];
  beforeEach(async () => {
    place = await openSqlitePlace();
    const json = { slack: { apiUrl: slack.fakeSlack.apiUrl } };
    config = ["--config", writeConfig({ folder: place.folder, name: "sekisho.config.json", json })];
    const file = ["--store", join(place.folder, "verification.db")];
    withToken = (...args) =>
      commandHere(["tasks", ...args, ...file, ...config], { SLACK_BOT_TOKEN: botToken });
    await store();
  });

  it("tasks list shows a header, and names and links beside the ids", async () => {
    const { code, stdout, stderr } = await withToken("list");
    const [head = "", row = ""] = stdout.split("\n");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(head.split(/ {2,}/)).toEqual([
      "REQUEST",
      "STATE",
      "AGE",
      "DESTINATION",
      "CHANNEL",
      "PERSON",
      "CALLS",
      "NEXT",
      "THREAD",
    ]);
    expect(row).toContain(`#general (${channel})`);
    expect(row).toContain("Hanako (UHANAKO)");
    expect(row.indexOf("Hanako")).toBe(head.indexOf("PERSON"));
    expect(row.endsWith(linkOf())).toBe(true);
    const [json = ""] = (await withToken("list", "--json")).stdout.split("\n");
    const named = { user: "UHANAKO", userName: "Hanako", channelName: "#general", link: linkOf() };
    expect(JSON.parse(json)).toMatchObject(named);
  });

  it("tasks show prints names and links, and the record only with --json", async () => {
    const { stdout } = await withToken("show", task.id);
    expect(stdout).toContain("Hanako (UHANAKO)");
    expect(stdout).toContain(linkOf());
    expect(stdout).not.toMatch(/revision|wakeSeq|principal/);
    const record = JSON.parse((await withToken("show", task.id, "--json")).stdout);
    expect(record).toMatchObject({ id: task.id, revision: 1, wakeSeq: 0, userName: "Hanako" });
  });

  it("tasks list shows ids without an error if the bot token is another secret", async () => {
    const calls: string[] = [];
    slack.fakeSlack.onCall(({ method }) => void calls.push(method));
    const file = ["--store", join(place.folder, "verification.db")];
    const env = { SLACK_BOT_TOKEN: "another secret" };
    const { code, stdout, stderr } = await commandHere(["tasks", "list", ...file, ...config], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`${channel}  UHANAKO`);
    expect(stdout).not.toMatch(/THREAD|another secret/);
    expect(calls).toEqual([]);
  });

  it("tasks list shows ids if the configuration cannot be read", async () => {
    const broken = writeConfig({
      folder: place.folder,
      name: "broken.json",
      json: { colour: "blue" },
    });
    const file = ["--store", join(place.folder, "verification.db"), "--config", broken];
    const { code, stdout } = await commandHere(["tasks", "list", ...file], {
      SLACK_BOT_TOKEN: botToken,
    });
    expect(code).toBe(0);
    expect(stdout).toContain(`${channel}  UHANAKO`);
  });
});

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;

describeWithDynamoDb("names and links of a stage", () => {
  beforeEach(async () => {
    place = await openAwsPlace({ slack: { apiUrl: slack.fakeSlack.apiUrl } });
    await store();
  });

  it("tasks of a stage show the names that the stage's bot token can read", async () => {
    place.aws?.secrets.all.set("sekisho/prod/SLACK_BOT_TOKEN", { value: botToken });
    const { stdout } = await place.tasks("show", task.id);
    expect(stdout).toContain("Hanako (UHANAKO)");
    expect(stdout).toContain(linkOf());
  });
});
