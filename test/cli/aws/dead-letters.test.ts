import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type DeadLetter, parseDeadLetter } from "@sekisho/sekisho/dead-letters/archive.ts";
import { redrive } from "@sekisho/sekisho/dead-letters/redrive.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { commandsInFolder } from "../commands-in-folder.ts";
import { deploy, twoAccounts, verificationAccount, writeConfig } from "./a-stage.ts";
import { commandHere, failing } from "./command-here.ts";
import { anAsk, aWake, requestIdOf } from "./dead-letter-bodies.ts";
import { startSqs } from "./queues.ts";

const { folder, run, start } = commandsInFolder();
const config = writeConfig({ folder, name: "two.json", json: twoAccounts });

let sqs: Awaited<ReturnType<typeof startSqs>>;
let aws: AwsServices;
let queues: { main: string; archive: string };
let count = 0;
beforeAll(async () => {
  sqs = await startSqs();
});
afterAll(() => sqs.close());
beforeEach(async () => {
  count += 1;
  queues = {
    main: await sqs.createQueue(`main-${count}`),
    archive: await sqs.createQueue(`archive-${count}`),
  };
  aws = await startAwsServices({ account: verificationAccount, sqsUrl: sqs.url });
  deploy({ aws, json: twoAccounts, queues });
});
afterEach(() => aws.close());

const deadLetters = (...args: string[]) =>
  commandHere(["dead-letters", ...args, "--config", config], aws.env);
const asProcess = (...args: string[]) =>
  run(["dead-letters", ...args, "--config", config], aws.env);
const putTask = (id: string) =>
  aws.table.call("PutItem", { TableName: "tasks", Item: { id: { S: id }, state: { S: "done" } } });
const archive = (body: string) => sqs.send({ queueUrl: queues.archive, body });
const bodiesIn = async (queueUrl: string) => (await sqs.take(queueUrl)).sort();

describe("sekisho dead-letters list", () => {
  it("shows ids, kinds, times and task states without texts, for more than one batch", async () => {
    const bodies = Array.from({ length: 23 }, (_, index) =>
      anAsk({ requestId: requestIdOf(index) }),
    );
    bodies.push(aWake({ requestId: requestIdOf(99) }), "the text of nobody");
    for (const body of bodies) await archive(body);
    await putTask(requestIdOf(99));
    const outcome = await asProcess("list", "--json");
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    const rows: Record<string, unknown>[] = JSON.parse(outcome.stdout);
    expect(rows).toHaveLength(25);
    expect(rows.filter(({ kind }) => kind === "ask")).toHaveLength(23);
    expect(rows).toContainEqual(
      expect.objectContaining({ requestId: requestIdOf(99), kind: "wake", task: "done" }),
    );
    expect(rows).toContainEqual(
      expect.objectContaining({ requestId: requestIdOf(7), kind: "ask", task: "none" }),
    );
    expect(rows).toContainEqual(expect.objectContaining({ requestId: null, kind: "unreadable" }));
    const output = await deadLetters("list");
    expect(output.stdout.trim().split("\n")).toHaveLength(25);
    expect(outcome.stdout + output.stdout).not.toContain("the text");
    expect(await bodiesIn(queues.archive)).toEqual(bodies.sort());
  });

  it("reports that there are no dead letters", async () => {
    expect(await deadLetters("list")).toMatchObject(failing(0, "no dead letters"));
    expect((await deadLetters("list", "--json")).stdout).toBe("[]\n");
  });

  it("returns all dead letters to the archive after a failure half-way", async () => {
    const body = anAsk({ requestId: requestIdOf(1) });
    await archive(body);
    aws.refusals.set("dynamodb:GetItem", { status: 400, name: "AccessDeniedException" });
    expect(await deadLetters("list")).toMatchObject(failing(1, "lack the permission"));
    expect(await bodiesIn(queues.archive)).toEqual([body]);
  });
});

describe("an interrupted sekisho dead-letters", () => {
  it("ends at once on an interruption and returns the received dead letters to the archive", async () => {
    const body = anAsk({ requestId: requestIdOf(1) });
    await archive(body);
    aws.unanswered.add("dynamodb:GetItem");
    const listing = start(["dead-letters", "list", "--config", config], aws.env);
    while (!aws.calls.some(({ action }) => action === "dynamodb:GetItem")) await setTimeout(20);
    expect(await listing.kill("SIGINT")).toMatchObject({ code: 130, stdout: "" });
    expect(await bodiesIn(queues.archive)).toEqual([body]);
  });
});

describe("sekisho dead-letters redrive", () => {
  const [first, second, third] = [requestIdOf(1), requestIdOf(2), requestIdOf(3)];

  it("sends a dead letter of a task without a record unchanged, and any other as a redrive", async () => {
    const [never, begun, left] = [
      anAsk({ requestId: first }),
      aWake({ requestId: second }),
      aWake({ requestId: third }),
    ];
    await archive(never);
    await archive(begun);
    await archive(left);
    await putTask(second);
    const result = await asProcess("redrive", first, second.toUpperCase());
    expect(result.code).toBe(0);
    const redriven = JSON.stringify({ type: "redrive", requestId: second });
    expect(await bodiesIn(queues.main)).toEqual([never, redriven].sort());
    // Read from the call, because the emulator does not return the group.
    const sends = aws.calls
      .filter(({ action }) => action === "sqs:SendMessage")
      .map(({ body }) => JSON.parse(body));
    expect(sends).toContainEqual({
      QueueUrl: queues.main,
      MessageBody: never,
      MessageGroupId: "T1",
    });
    expect(await bodiesIn(queues.archive)).toEqual([left]);
  });

  it("keeps a dead letter in the archive if it cannot be sent", async () => {
    const body = anAsk({ requestId: first });
    await archive(body);
    aws.refusals.set("sqs:SendMessage", { status: 400, name: "AccessDeniedException" });
    expect((await deadLetters("redrive", "--all")).code).toBe(1);
    expect(await bodiesIn(queues.archive)).toEqual([body]);
    expect(await bodiesIn(queues.main)).toEqual([]);
  });

  it("--all keeps unreadable dead letters, which only --discard removes", async () => {
    await archive(aWake({ requestId: first }));
    await archive("no message of ours");
    const result = await deadLetters("redrive", "--all");
    expect(result).toMatchObject(failing(0, "--discard"));
    expect(await bodiesIn(queues.main)).toHaveLength(1);
    expect((await deadLetters("redrive", "--discard")).code).toBe(0);
    expect(await bodiesIn(queues.archive)).toEqual([]);
  });

  it("exits with 1 for an unknown id, and with 2 for missing or conflicting arguments", async () => {
    expect(await deadLetters("redrive", first)).toMatchObject(failing(1, first));
    expect((await deadLetters("redrive")).code).toBe(2);
    expect((await deadLetters("redrive", "--all", first)).code).toBe(2);
  });
});

function letter({ body, group }: { body: string; group?: string }): DeadLetter {
  return { messageId: `m-${body.length}`, receipt: "r", body, group, archivedAtMs: 0 };
}

/** Returns what happened, in order. */
async function redriven(
  letters: DeadLetter[],
  { states = {} }: { states?: Record<string, string> } = {},
) {
  const happened: unknown[] = [];
  const result = redrive({
    deadLetters: letters.map(parseDeadLetter),
    stateOfTask: async ({ requestId }) => states[requestId],
    async send({ body, group }) {
      happened.push({ sent: body, group });
    },
    remove: async ({ body }) => void happened.push({ removed: body }),
    done: ({ requestId }) => happened.push({ done: requestId }),
  });
  await result.catch((error: Error) => happened.push(error.message));
  return happened;
}

const id = requestIdOf(1);
const redriveBody = JSON.stringify({ type: "redrive", requestId: id });

describe("a redriven dead letter", () => {
  it("sends a redrive for any dead letter of a stored task, in the original message group", async () => {
    for (const body of [anAsk({ requestId: id }), aWake({ requestId: id })]) {
      const happened = await redriven([letter({ body, group: "T9" })], {
        states: { [id]: "done" },
      });
      expect(happened[0]).toEqual({ sent: redriveBody, group: "T9" });
    }
  });

  it("sends one message for all dead letters of a task", async () => {
    const [ask, wake] = [anAsk({ requestId: id }), aWake({ requestId: id })];
    const happened = await redriven([letter({ body: wake }), letter({ body: ask })]);
    expect(happened).toEqual([
      { sent: ask, group: "T1" },
      { removed: wake },
      { removed: ask },
      { done: id },
    ]);
  });
});
