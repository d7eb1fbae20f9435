/** The commands about tasks against what a zone has stored, the same on both engines. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type AskMessage, queueMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import { retryIdOf } from "../../../lambdas/verification/task/routing.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { emptyThread, threadIdOf } from "../../../lambdas/verification/task/thread.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { sampleCall, sampleTask } from "../../verification/task/sample.ts";
import { openAwsPlace, openSqlitePlace, type TestPlace } from "./places.ts";

const places = [
  { name: "the local run's file", open: openSqlitePlace },
  { name: "a stage on AWS", open: openAwsPlace },
].slice(0, whyNoDynamoDb === undefined ? 2 : 1);

const secretText = "a text that nobody but the thread may read";
/** All tests of a place share its store: each has threads and ids of its own. */
let count = 0;

describe.each(places)("sekisho tasks at $name", ({ open }) => {
  let place: TestPlace;
  let channel: string;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.close());
  beforeEach(() => {
    count += 1;
    channel = `C${count}`;
  });

  const nowMs = Date.now();
  const idOf = (number: number) =>
    `${String(count).padStart(4, "0")}${String(number).padStart(4, "0")}-0000-5000-8000-000000000000`;
  const store = () => place.engine.taskStore({ parse: (json) => taskSchema.parse(json) });

  async function stored(changes: Partial<Task> = {}): Promise<Task> {
    const task = sampleTask({ receivedAtMs: nowMs - 60_000, expiresAtMs: nowMs + 3600_000, id: idOf(1), ...changes });
    const item = { ...task, message: { ...task.message, channel, text: secretText }, thread: `${channel}/1.1` };
    await store().create({ item: { ...item, ...(changes.message && { message: changes.message }) } });
    return item;
  }

  /** What the commands have sent, and nobody has taken. */
  async function sent() {
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

  it("lists the tasks that are not over, of all states, oldest first, without texts and without what is no task", async () => {
    const states = ["waiting", "queued", "received", "done", "delivering", "sent", "announced"] as const;
    for (const [age, state] of states.entries()) {
      await stored({ id: idOf(age), state, receivedAtMs: nowMs - (10 - age) * 1000 });
    }
    const thread = emptyThread({ id: threadIdOf({ thread: `${channel}/1.1` }) });
    await place.engine.taskStore({ parse: () => thread }).create({ item: { ...thread, expiresAtMs: nowMs + 60_000 } });
    const listed = await place.tasks("list", "--json");
    expect(listed.code).toBe(0);
    expect(idsOf(listed.stdout)).toEqual([0, 1, 2, 4, 5, 6].map(idOf));
    expect(rows(listed.stdout)).toContainEqual(
      expect.objectContaining({ requestId: idOf(0), state: "waiting", channel, user: "U1", next: "poll" }),
    );
    const table = await place.tasks("list");
    expect(table.stdout).toContain(`${idOf(0).slice(0, 8)}  waiting `);
    expect(listed.stdout + table.stdout).not.toContain(secretText);
  });

  it("lists one state, or one thread with what is over in it", async () => {
    await stored({ id: idOf(1), state: "waiting" });
    await stored({ id: idOf(2), state: "done" });
    await stored({ id: idOf(3), state: "sent" });
    expect(idsOf((await place.tasks("list", "--state", "done", "--json")).stdout)).toEqual([idOf(2)]);
    const ofThread = await place.tasks("list", "--thread", `${channel}/1.1`, "--json");
    expect(rows(ofThread.stdout).map(({ requestId }) => requestId)).toEqual([1, 2, 3].map(idOf));
    const both = await place.tasks("list", "--thread", `${channel}/1.1`, "--state", "sent", "--json");
    expect(rows(both.stdout)).toHaveLength(1);
    const none = await place.tasks("list", "--thread", "C0/0.0");
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("There is none") });
  });

  it("lists no more than it is told, across pages, and says that there are more", async () => {
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
      call: sampleCall({ taskId: "t-1", params: { channel, text: secretText, correlation_id: sampleTask().id } }),
      wait: { workStartedAtMs: nowMs, polls: 3 },
      history: [
        { atMs: nowMs - 60_000, event: "asked", state: "received" },
        { atMs: nowMs - 59_750, event: "announced", state: "announced" },
        { atMs: nowMs - 50_000, event: "answered", state: "waiting" },
      ],
    });
    const shown = await place.tasks("show", task.id.slice(0, 8));
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain(task.id);
    expect(shown.stdout).toMatch(
      /History\n.* received .*asked\n.*\+250 ms .*announced\n.*\+9 s .*waiting .*answered\n/,
    );
    const json = await place.tasks("show", task.id.toUpperCase(), "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      id: task.id,
      wait: { polls: 3 },
      message: { textLength: secretText.length },
      history: [{ sincePreviousMs: 0 }, { sincePreviousMs: 250 }, { sincePreviousMs: 9750 }],
    });
    expect(shown.stdout + json.stdout).not.toContain(secretText);
  });

  it("exits with 1 for a task that is not there, and where a beginning fits several, which it names", async () => {
    const [one, other] = [await stored({ id: idOf(1) }), await stored({ id: idOf(2), state: "done" })];
    for (const command of ["show", "cancel", "retry"]) {
      const several = await place.tasks(command, one.id.slice(0, 7));
      expect(several).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`${one.id}\n${other.id}`) });
      const nobody = await place.tasks(command, "ffffffff");
      expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("begins with ffffffff") });
      const unknown = await place.tasks(command, "ffffffff-0000-5000-8000-000000000000");
      expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no task") });
    }
    expect(await sent()).toEqual([]);
  });

  it("cancels by a message to the task's zone", async () => {
    const task = await stored({ state: "waiting" });
    const canceled = await place.tasks("cancel", task.id, "--json");
    expect(canceled.code).toBe(0);
    expect(JSON.parse(canceled.stdout)).toEqual({ requestId: task.id, state: "waiting", asked: true });
    expect(await sent()).toEqual([{ type: "cancel", requestId: task.id }]);
  });

  it("does not cancel what has its outcome, and says which", async () => {
    await stored({ id: idOf(1), state: "done" });
    await stored({ id: idOf(2), state: "delivering", outcome: { type: "failed", reason: "timeout", lost: false } });
    const texts = [
      [idOf(1), "answered"],
      [idOf(2), "failed: timeout"],
    ] as const;
    for (const [id, text] of texts) {
      const refused = await place.tasks("cancel", id);
      expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(text) });
    }
    expect(await sent()).toEqual([]);
  });

  it("retries what is over as a new task with the next id that has no record, and a retry as one of the first", async () => {
    const first = await stored({ state: "done" });
    const [second, third] = [1, 2].map((at) => retryIdOf({ originalId: first.id, count: at })) as [string, string];
    const retried = await place.tasks("retry", first.id);
    expect(retried).toMatchObject({ code: 0, stdout: `${second}: retries ${first.id}\n` });
    expect((await place.tasks("retry", first.id)).stdout).toContain(second);
    const [ask, again] = (await sent()) as AskMessage[];
    expect(ask).toMatchObject({ type: "ask", requestId: second, retryOf: first.id });
    // The text is read anew, so that it is the same whenever the retry is asked for.
    expect(ask?.message).toEqual({ ...first.message, text: "" });
    expect(again?.requestId).toBe(second);
    expect(ask?.receivedAtMs).toBeGreaterThanOrEqual(nowMs);
    expect(ask?.trace.traceparent).not.toBe(first.trace.traceparent);

    await stored({ id: second, state: "done", retryOf: first.id });
    const next = await place.tasks("retry", second, "--json");
    expect(JSON.parse(next.stdout)).toEqual({ requestId: third, retryOf: first.id });
    expect(await sent()).toMatchObject([{ requestId: third, retryOf: first.id }]);
  });

  it("does not retry what is not over, nor the word to cancel", async () => {
    const task = await stored({ id: idOf(1), state: "delivering" });
    const refused = await place.tasks("retry", task.id);
    expect(refused).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("not over yet (delivering)"),
    });
    const wish = await stored({ id: idOf(2), state: "done", outcome: { type: "canceling", count: 1 } });
    const word = await place.tasks("retry", wish.id);
    expect(word).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("the word to cancel") });
    expect(await sent()).toEqual([]);
  });

  it("exits with 2 for words that it does not understand", async () => {
    for (const words of [
      ["list", "--state", "asleep"],
      ["list", "--limit", "0"],
      ["list", "--thread", "foo"],
      ["show"],
      ["show", "abc"],
      ["cancel", "no-id"],
      ["retry", "aaaaaaaa", "bbbbbbbb"],
    ]) {
      expect({ words, ...(await place.tasks(...words)) }).toMatchObject({ words, code: 2, stdout: "" });
    }
  });
});
