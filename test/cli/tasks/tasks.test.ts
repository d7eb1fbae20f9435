/** The commands about tasks: against what a zone has stored, beside zones at work, on AWS and in a folder. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { lockFolder } from "@sekisho/local/folder-lock.ts";
import { shardCount } from "@sekisho/runtime/engine/aws/table.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { type AskMessage, queueMessageSchema } from "@sekisho/verification/task/messages.ts";
import { retryIdOf } from "@sekisho/verification/task/routing.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { emptyThread, threadIdOf } from "@sekisho/verification/task/thread.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import type { AwsServices } from "../../doubles/aws/json-services.ts";
import { type E2eWorld, startWorld } from "../../e2e/world.ts";
import { sampleCall, sampleTask } from "../../verification/task/sample.ts";
import { commandHere, failing, refusing } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";
import { openAwsPlace, places, type TestPlace } from "./places.ts";

const secretText = "a text that nobody but the thread may read";

/** All tests of a place share its store: each has threads and ids of its own. */
let count = 0;

describe.each(places)("sekisho tasks at $name", ({ open }) => {
  let place: TestPlace;
  let channel: string;
  // One for all: a store keeps the order of the records that it creates within a millisecond.
  let taskStore: ReturnType<typeof openStore>;
  beforeAll(async () => {
    place = await open();
    taskStore = openStore();
  });
  afterAll(() => place.close());
  beforeEach(() => {
    count += 1;
    channel = `C${count}`;
  });

  const nowMs = Date.now();
  const idOf = (number: number) =>
    `${String(count).padStart(4, "0")}${String(number).padStart(4, "0")}-0000-5000-8000-000000000000`;
  const openStore = () => place.engine.taskStore({ parse: (json) => taskSchema.parse(json) });
  const store = () => taskStore;

  async function stored(changes: Partial<Task> = {}): Promise<Task> {
    const task = sampleTask({
      receivedAtMs: nowMs - 60_000,
      expiresAtMs: nowMs + 3600_000,
      id: idOf(1),
      ...changes,
    });
    const item = {
      ...task,
      message: { ...task.message, channel, text: secretText },
      thread: `${channel}/1.1`,
    };
    await store().create({
      item: { ...item, ...(changes.message && { message: changes.message }) },
    });
    return item;
  }

  /** What the commands have sent, and nobody has taken. */
  async function readQueue() {
    const { queue } = place.engine.taskQueue({ maxReceiveCount: 5 });
    const messages = await queue.receive({ max: 10, visibilityTimeoutMs: 60_000, waitMs: 1000 });
    for (const { receipt } of messages) await queue.finish({ receipt });
    return messages.map(({ body }) => queueMessageSchema.parse(JSON.parse(body)));
  }

  const rows = (stdout: string): { requestId: string }[] =>
    stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  const idsOf = (stdout: string) =>
    rows(stdout)
      .map(({ requestId }) => requestId)
      .filter((id) => id.startsWith(idOf(0).slice(0, 4)));

  it("lists open tasks of all states, oldest first, without texts and other records", async () => {
    const states = [
      "waiting",
      "queued",
      "received",
      "done",
      "delivering",
      "sent",
      "announced",
    ] as const;
    for (const [age, state] of states.entries()) {
      await stored({ id: idOf(age), state, receivedAtMs: nowMs - (10 - age) * 1000 });
    }
    const thread = emptyThread({ id: threadIdOf({ thread: `${channel}/1.1` }) });
    await place.engine
      .taskStore({ parse: () => thread })
      .create({ item: { ...thread, expiresAtMs: nowMs + 60_000 } });
    const listed = await place.tasks("list", "--json");
    expect(listed.code).toBe(0);
    expect(idsOf(listed.stdout)).toEqual([0, 1, 2, 4, 5, 6].map(idOf));
    expect(rows(listed.stdout)).toContainEqual(
      expect.objectContaining({
        requestId: idOf(0),
        state: "waiting",
        channel,
        user: "U1",
        next: "poll",
      }),
    );
    const table = await place.tasks("list");
    expect(table.stdout).toContain(`${idOf(0).slice(0, 8)}  waiting `);
    expect(listed.stdout + table.stdout).not.toContain(secretText);
  });

  it("lists the tasks of one state, or all tasks of one thread", async () => {
    await stored({ id: idOf(1), state: "waiting" });
    await stored({ id: idOf(2), state: "done" });
    await stored({ id: idOf(3), state: "sent" });
    expect(idsOf((await place.tasks("list", "--state", "done", "--json")).stdout)).toEqual([
      idOf(2),
    ]);
    const ofThread = await place.tasks("list", "--thread", `${channel}/1.1`, "--json");
    expect(rows(ofThread.stdout).map(({ requestId }) => requestId)).toEqual([1, 2, 3].map(idOf));
    const both = await place.tasks(
      "list",
      "--thread",
      `${channel}/1.1`,
      "--state",
      "sent",
      "--json",
    );
    expect(rows(both.stdout)).toHaveLength(1);
    const none = await place.tasks("list", "--thread", "C0/0.0");
    expect(none).toMatchObject(refusing(0, "There are no such tasks"));
  });

  it("lists at most --limit tasks, across pages, and reports that there are more", async () => {
    const all = Array.from({ length: 55 }, (_, number) => idOf(number));
    for (const [at, id] of all.entries()) await stored({ id, receivedAtMs: nowMs - 1000 + at });
    const ofThread = ["list", "--thread", `${channel}/1.1`, "--json"];
    const some = await place.tasks(...ofThread, "--limit", "52");
    expect(rows(some.stdout).map(({ requestId }) => requestId)).toEqual(all.slice(0, 52));
    expect(some.stderr).toContain("--limit");
    const exactly = await place.tasks(...ofThread, "--limit", "55");
    expect(rows(exactly.stdout)).toHaveLength(55);
    expect(exactly.stderr).toBe("");
  });

  it("shows a task by the beginning of its id, with its history and without its texts", async () => {
    const task = await stored({
      state: "waiting",
      call: sampleCall({
        taskId: "t-1",
        params: { channel, text: secretText, correlation_id: sampleTask().id },
      }),
      wait: { workStartedAtMs: nowMs, polls: 3 },
      history: [
        { atMs: nowMs - 60_000, event: "asked", state: "received" },
        { atMs: nowMs - 59_750, event: "announced", state: "announced" },
        { atMs: nowMs - 50_000, event: "answered", state: "waiting" },
      ],
    });
    const result = await place.tasks("show", task.id.slice(0, 8));
    expect(result.code).toBe(0);
    expect(result.stdout).toContain(task.id);
    expect(result.stdout).toMatch(
      /Timeline\n.* at .*\n.* slack .*message queued\n.*\+250 ms .*placeholder posted → announced\n.*\+9 s .*Execution zone responded → waiting\n/,
    );
    const json = await place.tasks("show", task.id.toUpperCase(), "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      id: task.id,
      wait: { polls: 3 },
      message: { textLength: secretText.length },
      history: [{ sincePreviousMs: 0 }, { sincePreviousMs: 250 }, { sincePreviousMs: 9750 }],
    });
    expect(result.stdout + json.stdout).not.toContain(secretText);
  });

  it("exits with 1 for an unknown task, and for an ambiguous beginning, whose tasks it names", async () => {
    const [one, other] = [
      await stored({ id: idOf(1) }),
      await stored({ id: idOf(2), state: "done" }),
    ];
    for (const command of ["show", "cancel", "retry"]) {
      const several = await place.tasks(command, one.id.slice(0, 7));
      expect(several).toMatchObject(refusing(1, `${one.id}\n${other.id}`));
      const nobody = await place.tasks(command, "ffffffff");
      expect(nobody).toMatchObject(failing(1, "begins with ffffffff"));
      const unknown = await place.tasks(command, "ffffffff-0000-5000-8000-000000000000");
      expect(unknown).toMatchObject(failing(1, "There is no task"));
    }
    expect(await readQueue()).toEqual([]);
  });

  it("cancels a task by a message to its zone", async () => {
    const task = await stored({ state: "waiting" });
    const canceled = await place.tasks("cancel", task.id, "--json");
    expect(canceled.code).toBe(0);
    expect(JSON.parse(canceled.stdout)).toEqual({
      requestId: task.id,
      state: "waiting",
      asked: true,
    });
    expect(await readQueue()).toEqual([{ type: "cancel", requestId: task.id }]);
  });

  it("refuses to cancel a task with an outcome, and names the outcome", async () => {
    await stored({ id: idOf(1), state: "done" });
    await stored({
      id: idOf(2),
      state: "delivering",
      outcome: { type: "failed", reason: "timeout", lost: false },
    });
    const texts = [
      [idOf(1), "answered"],
      [idOf(2), "failed: timeout"],
    ] as const;
    for (const [id, text] of texts) {
      const refusal = await place.tasks("cancel", id);
      expect(refusal).toMatchObject(refusing(1, text));
    }
    expect(await readQueue()).toEqual([]);
  });

  it("retries an ended task as a new task with the next free id, also if it was a retry itself", async () => {
    const first = await stored({ state: "done" });
    const [second, third] = [1, 2].map((at) => retryIdOf({ originalId: first.id, count: at })) as [
      string,
      string,
    ];
    const retried = await place.tasks("retry", first.id);
    expect(retried).toMatchObject({ code: 0, stdout: `${second}: retries ${first.id}\n` });
    expect((await place.tasks("retry", first.id)).stdout).toContain(second);
    const [ask, again] = (await readQueue()) as AskMessage[];
    expect(ask).toMatchObject({ type: "ask", requestId: second, retryOf: first.id });
    // The text is read anew, so that it is the same whenever the retry is asked for.
    expect(ask?.message).toEqual({ ...first.message, text: "" });
    expect(again?.requestId).toBe(second);
    expect(ask?.receivedAtMs).toBeGreaterThanOrEqual(nowMs);
    expect(ask?.trace.traceparent).not.toBe(first.trace.traceparent);

    await stored({ id: second, state: "done", retryOf: first.id });
    const next = await place.tasks("retry", second, "--json");
    expect(JSON.parse(next.stdout)).toEqual({ requestId: third, retryOf: first.id });
    expect(await readQueue()).toMatchObject([{ requestId: third, retryOf: first.id }]);
  });

  it("refuses to retry an open task, a cancel request, a slash command or an instructed shortcut", async () => {
    const task = await stored({ id: idOf(1), state: "delivering" });
    const refusal = await place.tasks("retry", task.id);
    expect(refusal).toMatchObject(refusing(1, "not ended yet (delivering)"));
    const wish = await stored({
      id: idOf(2),
      state: "done",
      outcome: { type: "canceling", count: 1 },
    });
    const word = await place.tasks("retry", wish.id);
    expect(word).toMatchObject(refusing(1, "a request to cancel"));
    const { message } = sampleTask();
    const command = await stored({
      id: idOf(3),
      state: "done",
      message: { ...message, text: "", command: true },
    });
    expect(await place.tasks("retry", command.id)).toMatchObject(refusing(1, "slash command"));
    const about = { ts: "1.1", instruction: "", hadInstruction: true } as const;
    const shortcut = await stored({
      id: idOf(4),
      state: "done",
      message: { ...message, text: "", about },
    });
    expect(await place.tasks("retry", shortcut.id)).toMatchObject(
      refusing(1, "with an instruction"),
    );
    expect(await readQueue()).toEqual([]);
  });

  it("exits with 2 for invalid arguments", async () => {
    for (const args of [
      ["list", "--state", "asleep"],
      ["list", "--limit", "0"],
      ["list", "--thread", "foo"],
      ["show"],
      ["show", "abc"],
      ["cancel", "no-id"],
      ["retry", "aaaaaaaa", "bbbbbbbb"],
    ]) {
      expect({ args, ...(await place.tasks(...args)) }).toMatchObject({
        args,
        code: 2,
        stdout: "",
      });
    }
  });
});

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;

describeWithDynamoDb("sekisho tasks of a stage", () => {
  let place: TestPlace;
  let aws: AwsServices;
  let task: Task;
  beforeAll(async () => {
    const opened = await openAwsPlace();
    if (opened.aws === undefined) throw new Error("It is on AWS.");
    place = opened;
    aws = opened.aws;
    task = sampleTask({
      receivedAtMs: Date.now(),
      expiresAtMs: Date.now() + 3600_000,
      state: "waiting",
    });
    await place.engine
      .taskStore({ parse: (json) => taskSchema.parse(json) })
      .create({ item: task });
  });
  afterAll(() => place.close());
  afterEach(() => {
    aws.refusals.clear();
    aws.unanswered.clear();
    aws.calls.length = 0;
  });

  const actions = () => new Set(aws.calls.map(({ action }) => action));

  it("finds a whole id by one read, and notes that a part of an id needs a search", async () => {
    const whole = await place.tasks("show", task.id);
    expect(whole).toMatchObject(failing(0, "The Execution zone is in account"));
    expect(whole.stderr).not.toContain("whole request id");
    expect(actions()).not.toContain("dynamodb:Query");
    const searched = await place.tasks("show", task.id.slice(0, 8));
    expect(searched).toMatchObject(failing(0, "whole request id"));
    expect(aws.calls.filter(({ action }) => action === "dynamodb:GetItem")).toHaveLength(2);
  });

  it("sends in the message group of the task's workspace, and writes nothing into the table", async () => {
    expect((await place.tasks("cancel", task.id)).code).toBe(0);
    const sends = aws.calls
      .filter(({ action }) => action === "sqs:SendMessage")
      .map(({ body }) => JSON.parse(body));
    expect(sends).toMatchObject([{ MessageGroupId: "T1" }]);
    expect([...actions()].filter((action) => /Put|Update|Delete/.test(action))).toEqual([]);
  });

  it.each([
    ["dynamodb:Query", ["list"]],
    ["dynamodb:Query", ["show", "0d1c2b3a"]],
    ["dynamodb:GetItem", ["retry", "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d"]],
    ["sqs:SendMessage", ["cancel", "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d"]],
  ])("exits with 1 and explains what to do if %s is refused (%j)", async (action, args) => {
    aws.refusals.set(action, { status: 400, name: "AccessDeniedException" });
    const refusal = await place.tasks(...args);
    expect(refusal).toMatchObject(refusing(1, "lack the permission"));
    aws.refusals.set(action, { status: 500, name: "InternalFailure" });
    expect((await place.tasks(...args)).code).toBe(3);
  });

  it("ends at once when it is interrupted", async () => {
    aws.unanswered.add("dynamodb:Query");
    const listing = place.tasks("list", "--state", "sent");
    while (!actions().has("dynamodb:Query")) await setTimeout(10);
    process.emit("SIGINT");
    expect(await listing).toMatchObject({ code: 130, stdout: "" });
    // Its deadline would have let it try again.
    const queries = aws.calls
      .filter(({ action }) => action === "dynamodb:Query")
      .map(({ body }) => body);
    expect(queries.length).toBeLessThanOrEqual(shardCount);
    expect(new Set(queries).size).toBe(queries.length);
  });
});

const { folder, run } = commandsInFolder();
const file = join(folder, ".sekisho", "verification.db");

describe("sekisho tasks in a folder", () => {
  it("names the missing database if nothing was ever started, and creates no file", async () => {
    const result = await run(["tasks", "list"]);
    expect(result).toMatchObject(refusing(1, file));
    expect(result.stderr).toContain("--stage");
    expect(existsSync(file)).toBe(false);
  });

  it("leaves an empty file empty", async () => {
    const empty = join(folder, "empty.db");
    writeFileSync(empty, "");
    const result = await commandHere(["tasks", "list", "--store", empty], {});
    expect(result).toMatchObject(refusing(1, `${empty} is empty`));
    expect(readFileSync(empty, "utf8")).toBe("");
    expect(existsSync(`${empty}-wal`)).toBe(false);
  });

  it("finds the tasks of `sekisho start`, and notes that a request waits for the next start", async () => {
    const task = sampleTask({
      state: "waiting",
      receivedAtMs: Date.now(),
      expiresAtMs: Date.now() + 3600_000,
    });
    const lock = lockFolder({ folder: join(folder, ".sekisho") });
    const engine = openSqliteEngine({ file });
    await engine.taskStore({ parse: (json) => taskSchema.parse(json) }).create({ item: task });
    expect(await run(["tasks", "cancel", "0d1c2b3a"])).toMatchObject({ code: 0, stderr: "" });
    lock.release();
    await engine.close();
    const later = await run(["tasks", "cancel", "0d1c2b3a"]);
    expect(later).toMatchObject(failing(0, "at the next start"));
    expect((await run(["tasks", "list"])).stdout).toContain("0d1c2b3a  waiting");
  });

  it("exits with 2 for both --stage and --store, and for an unknown stage", async () => {
    const both = await commandHere(["tasks", "list", "--stage", "dev", "--store", file], {});
    expect(both).toMatchObject(failing(2, "not both"));
    expect(await commandHere(["tasks", "list", "--stage", "nowhere"], {})).toMatchObject({
      code: 2,
    });
  });

  it("reports a file that is not a database", async () => {
    const result = await commandHere(["tasks", "list", "--store", __filename], {});
    expect(result).toMatchObject(failing(1, "not a database"));
  });
});

describe.each(places)("sekisho tasks beside a zone at $name", ({ open }) => {
  let place: TestPlace;
  let world: E2eWorld;
  beforeAll(async () => {
    place = await open();
    const execution = openSqliteEngine({ file: join(place.folder, "execution.db") });
    world = await startWorld({
      transport: "in-process",
      openEngine: (zone) =>
        zone === "execution" ? execution : { ...place.engine, close: async () => {} },
    });
  });
  afterAll(async () => {
    await world.close();
    await place.close();
  });

  const result = async (id: string) => JSON.parse((await place.tasks("show", id, "--json")).stdout);

  /** Resolves when the record is in that state, of which the observations of a worker tell a little earlier. */
  async function stored(id: string, state: string): Promise<void> {
    while (!(await place.tasks("list", "--state", state, "--json")).stdout.includes(id))
      await setTimeout(50);
  }

  it("cancel --wait ends a running task, and reports the outcome that its thread shows", async () => {
    const { message, requestId } = world.ask("slow 60s");
    await stored(requestId, "waiting");
    const canceled = await place.tasks("cancel", requestId.slice(0, 8), "--wait", "--json");
    expect(canceled.code).toBe(0);
    expect(JSON.parse(canceled.stdout)).toEqual({ requestId, state: "done", outcome: "canceled" });
    expect(world.answersTo(message)).toHaveLength(1);
    const { history } = await result(requestId);
    expect(history.map(({ state }: { state: string }) => state)).toEqual(
      expect.arrayContaining(["received", "announced", "sent", "waiting", "delivering", "done"]),
    );
  });

  it("retry answers the same message again, as a new task in the same thread", async () => {
    const { message, requestId } = world.ask("a word to be repeated");
    await stored(requestId, "done");
    const retried = await place.tasks("retry", requestId, "--json");
    const again = JSON.parse(retried.stdout).requestId;
    await stored(again, "done");
    expect(await result(again)).toMatchObject({
      state: "done",
      retryOf: requestId,
      outcomeText: "answered",
    });
    const answers = world
      .answersTo(message)
      .filter(({ text }) => text.includes("a word to be repeated"));
    expect(answers).toHaveLength(2);
  });
});
