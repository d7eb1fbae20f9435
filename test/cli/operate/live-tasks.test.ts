import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import type { TaskListUpdate } from "@sekisho/local/web/operators-api.ts";
import { createLiveTasks } from "@sekisho/sekisho/operate/live-tasks.ts";
import type { TaskZone } from "@sekisho/sekisho/tasks/stored-task.ts";
import { openLocalTaskZone } from "@sekisho/sekisho/tasks/task-zone.ts";
import { openLocalZone } from "@sekisho/sekisho/zone/local-zone.ts";
import { zoneFile } from "@sekisho/sekisho/zone/zone.ts";
import { openTasksInFile, requestIdOf, undelivered } from "./tasks-in-file.ts";

let tasks: ReturnType<typeof openTasksInFile>;
let listing: TaskZone;
let lists = 0;
let broken = false;
let atOnce = 0;
let mostAtOnce = 0;
let nowMs = 0;
let live: ReturnType<typeof createLiveTasks>;

beforeEach(() => {
  tasks = openTasksInFile();
  const file = zoneFile({ directory: tasks.folder, store: undefined });
  const zone = openLocalZone({ file, config: () => parseConfig({ json: {} }) });
  listing = openLocalTaskZone({ zone, signal: new AbortController().signal });
  lists = 0;
  broken = false;
  atOnce = 0;
  mostAtOnce = 0;
  async function* openTasks() {
    lists += 1;
    if (broken) throw new Error("no");
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    await setTimeout(5);
    yield* listing.openTasks();
    atOnce -= 1;
  }
  nowMs = 0;
  live = createLiveTasks({
    zone: { ...listing, openTasks },
    explain: () => "It cannot be read.",
    pollMs: 10,
    now: () => nowMs,
  });
});
afterEach(async () => {
  live.close();
  await listing.close();
  await tasks.close();
});

/** Follows the list, and returns its updates one after the other. */
function follow() {
  const updates: TaskListUpdate[] = [];
  let heard = () => {};
  const stop = live.watch((news) => {
    updates.push(news);
    heard();
  });
  async function next(): Promise<TaskListUpdate> {
    while (updates.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      heard = resolve;
      await promise;
    }
    const [first] = updates.splice(0, 1);
    if (first === undefined) throw new Error("No update arrived.");
    return first;
  }
  return { next, stop, updates };
}

const idsOf = (news: TaskListUpdate) => ("rows" in news ? news.rows.map(({ id }) => id) : []);

describe("the live list", () => {
  it("lists all tasks once, open ones first, and then only changes", async () => {
    await tasks.add(1, { state: "done" });
    await tasks.add(2, { state: "waiting" });
    await tasks.add(3);
    const { next } = follow();
    const all = await next();
    expect({ type: all.type, ids: idsOf(all) }).toEqual({
      type: "all",
      ids: [3, 2, 1].map(requestIdOf).toSpliced(0, 2, requestIdOf(3), requestIdOf(2)),
    });
    await tasks.change(2, { state: "delivering" });
    expect(await next()).toMatchObject({
      type: "change",
      rows: [{ id: requestIdOf(2), state: "delivering" }],
      gone: [],
    });
    await tasks.add(4);
    expect(idsOf(await next())).toEqual([requestIdOf(4)]);
  });

  it("follows an old open task to its end, even beyond the limit of finished tasks", async () => {
    await tasks.add(1, { state: "waiting" });
    for (let number = 2; number < 110; number += 1) await tasks.add(number, { state: "done" });
    const { next } = follow();
    expect(await next()).toMatchObject({ type: "all", more: ["done"] });
    await tasks.change(1, { state: "done" });
    expect(await next()).toMatchObject({
      rows: [{ id: requestIdOf(1), state: "done", kind: "good" }],
    });
  });

  it("updates a task whose answer is delivered later", async () => {
    await tasks.add(1, undelivered);
    const { next } = follow();
    expect(await next()).toMatchObject({
      rows: [{ kind: "bad", text: "answered, but not posted" }],
    });
    await tasks.change(1, { delivery: undefined });
    expect(await next()).toMatchObject({ rows: [{ kind: "good" }] });
  });

  it("removes erased tasks within a minute, and omits them for a new viewer", async () => {
    await tasks.add(1, { state: "done" });
    await tasks.add(2, { state: "done" });
    const first = follow();
    await first.next();
    await tasks.erase(1);
    await tasks.erase(2, { leavesNothing: true });
    nowMs += 60_000;
    const update = await first.next();
    expect("gone" in update && update.gone.toSorted()).toEqual([1, 2].map(requestIdOf));
    await tasks.add(3, { state: "done" });
    expect(idsOf(await first.next())).toEqual([requestIdOf(3)]);
    await tasks.erase(3);
    first.stop();
    expect(idsOf(await follow().next())).toEqual([]);
  });

  it("names the ids of expired tasks", async () => {
    await tasks.add(1);
    const { next } = follow();
    await next();
    await tasks.change(1, { expiresAtMs: 1 });
    expect(await next()).toEqual({ type: "change", rows: [], gone: [requestIdOf(1)], more: [] });
  });

  it("polls once for all viewers, and stops without viewers", async () => {
    const first = follow();
    await first.next();
    const second = follow();
    expect(await second.next()).toMatchObject({ type: "all" });
    first.stop();
    await tasks.add(1);
    expect(await second.next()).toMatchObject({ type: "change" });
    // A poll of each who looks would begin while another one is under way.
    expect(mostAtOnce).toBe(1);
    second.stop();
    await setTimeout(60);
    const seen = lists;
    await setTimeout(60);
    expect(lists).toBe(seen);
    expect(first.updates).toEqual([]);
  });

  it("reports a read failure once, keeps trying, and then lists all tasks again", async () => {
    broken = true;
    const { next, updates } = follow();
    expect(await next()).toEqual({ type: "trouble", text: "It cannot be read." });
    while (lists < 4) await setTimeout(5);
    expect(updates).toEqual([]);
    broken = false;
    expect(await next()).toMatchObject({ type: "all" });
  });
});
