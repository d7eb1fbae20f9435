/** A message that is edited or deleted before its task is sent. */
import { describe, expect, it } from "@jest/globals";
import { findLateFiles, isNewVersion, withLateFiles } from "@sekisho/verification/task/edited.ts";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { type Policy, withoutParams } from "@sekisho/verification/task/routing.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { nowMs, play, typesOf, woken } from "./play.ts";
import {
  sampleAsk,
  sampleCall,
  sampleFile,
  samplePolicy,
  sampleRoute,
  sampleTask,
} from "./sample.ts";

const original = sampleTask().message;
const versionOf = (change: Partial<UserMessage>): UserMessage => ({
  ...original,
  text: "And who?",
  editedTs: "9.9",
  ...change,
});
const editEvent = (change: Partial<UserMessage> = {}, workerDied = false): TaskEvent => {
  return { type: "message_edited", nowMs, workerDied, message: versionOf(change) };
};
const deletion = { type: "message_deleted", nowMs, workerDied: false } as const;
const cancellation = { type: "failed", reason: "canceled" };

const queuedTask = sampleTask({
  state: "queued",
  queuePosition: 1,
  placeholder: { ts: "2.2", postedAtMs: nowMs },
  call: sampleCall(),
});
const deadlineAtMs = nowMs + 60_000;
const params = {
  text: original.text,
  correlation_id: original.ts,
  session_id: "s-1",
  timeout_ms: 1000,
  callback: true,
};
const announcedTask: Task = {
  ...queuedTask,
  state: "announced",
  queuePosition: 0,
  call: sampleCall({ deadlineAtMs, params }),
};

/** The word "far" before a colon leads to another destination. */
function routedByWord(): Policy {
  const policy = samplePolicy();
  const near = policy.destinations.get("host");
  if (near === undefined) throw new Error("The sample has a host.");
  const destinations = new Map([
    ["host", near],
    ["far", { ...near, deadlineMs: 300_000 }],
  ]);
  const routesOf: Policy["routesOf"] = ({ text }) => [
    sampleRoute({
      destinations: ["far"],
      hasWord: true,
      text: text.startsWith("far:") ? text : undefined,
    }),
    sampleRoute({ text }),
  ];
  return { ...policy, destinations, routesOf };
}

describe("an edit", () => {
  it("judges an edited message by its new text before it accepts it", () => {
    const { task, last } = play([editEvent({ files: [sampleFile] })]);
    expect(task.message).toMatchObject({ text: "And who?", files: [sampleFile], editedTs: "9.9" });
    expect(last).toMatchObject([{ type: "announce" }]);
    expect(
      next({ task: sampleTask(), event: editEvent({}, true), policy: samplePolicy() }),
    ).toMatchObject({
      task: { reconcile: true },
      effects: [{ type: "permit" }],
    });
  });

  it("turns a reply into a message to the bot when an edit mentions the bot", () => {
    const reply = sampleTask({ message: { ...original, unaddressed: true } });
    expect(play([editEvent()], { task: reply }).task.message).not.toHaveProperty("unaddressed");
    expect(play([editEvent({ unaddressed: true })], { task: reply }).task.message.unaddressed).toBe(
      true,
    );
    expect(play([editEvent({ unaddressed: true })]).task.message).not.toHaveProperty("unaddressed");
  });

  it("sends the edited text of a queued task when its turn comes", () => {
    const { task } = play(
      [
        editEvent(),
        { type: "progress_shown", nowMs, shown: {} },
        { type: "woken", nowMs, workerDied: false },
      ],
      { task: queuedTask },
    );
    expect(task).toMatchObject({ state: "sent", call: { params: { text: "And who?" } } });
  });

  it("drops forwarded files at an edit and keeps them when late files arrive", () => {
    const withForward: Task = {
      ...queuedTask,
      message: { ...original, sharedFiles: [sampleFile] },
    };
    const { task } = next({ task: withForward, event: editEvent(), policy: samplePolicy() });
    expect(task.message).not.toHaveProperty("sharedFiles");
    const late: TaskEvent = {
      type: "message_edited",
      nowMs,
      workerDied: false,
      message: { ...original, files: [sampleFile] },
    };
    const completion = next({ task: withForward, event: late, policy: samplePolicy() });
    expect(completion.task.message).toMatchObject({
      files: [sampleFile],
      sharedFiles: [sampleFile],
    });
  });

  it("prepares the params again when an edit changes a task that was already prepared", () => {
    const sentStep = play([editEvent()], { task: announcedTask });
    expect(sentStep).toMatchObject({
      task: { state: "sent", call: { deadlineAtMs, params: { text: "And who?" } } },
    });
    const withFile = play([editEvent({ files: [sampleFile] })], { task: announcedTask });
    expect(typesOf(withFile.asked)).toEqual([["prepare"]]);
    expect(withFile.task.call).not.toHaveProperty("params");
  });

  it("moves a task to the destination of its edited text, with the deadline of that destination", () => {
    const policy = routedByWord();
    const text = "far: And who?";
    const waiting = play([editEvent({ text })], { task: queuedTask, policy });
    expect(waiting.task.call).toMatchObject({ destination: "far" });
    const begunStep = play(
      [editEvent({ text }), { type: "progress_shown", nowMs, shown: {} }, woken],
      {
        task: announcedTask,
        policy,
      },
    );
    expect(begunStep.task).toMatchObject({
      state: "sent",
      call: { destination: "far", deadlineAtMs: nowMs + 300_000 },
    });
  });

  it("moves a retry to the destination of the edited text and never sends that text to the former one", () => {
    const policy = routedByWord();
    const retry: Task = {
      ...announcedTask,
      retryOf: announcedTask.id,
      history: [{ atMs: nowMs, event: "asked", state: "queued" }],
    };
    const prepared: TaskEvent = {
      type: "prepared",
      context: { newest: { text: "far: And who?", files: [] } },
    };
    const { task } = play([prepared], { task: withoutParams(retry), policy });
    expect(task.call).toMatchObject({ destination: "far" });
    expect(task.call).not.toHaveProperty("params");
    const same: TaskEvent = {
      type: "prepared",
      context: { newest: { text: "And who?", files: [] } },
    };
    expect(play([same], { task: withoutParams(retry), policy }).task.call).toMatchObject({
      destination: "host",
    });
  });

  it.each([
    ["an empty text", "", { type: "failed", reason: "invalid_params" }],
    ["an oversized text", "x".repeat(40_001), { type: "failed", reason: "payload_too_large" }],
    ["the cancel word", "Cancel", cancellation],
  ])(
    "ends a task with a place in the thread when its message is edited to %s",
    (_what, text, outcome) => {
      for (const task of [queuedTask, announcedTask]) {
        expect(play([editEvent({ text })], { task })).toMatchObject({
          task: { state: "delivering", outcome },
        });
      }
    },
  );

  it("fails a queued task when no route fits its edited text", () => {
    const { task } = play([editEvent()], {
      task: queuedTask,
      policy: samplePolicy({ routed: false }),
    });
    expect(task.outcome).toMatchObject({ reason: "agent_not_found", lost: false });
  });
});

describe("a version of a message", () => {
  const knownTask = sampleTask({
    message: { ...original, files: [sampleFile], editedTs: "5.5", botUsers: ["U9"] },
  });

  it.each([
    [true, { text: "And who?", editedTs: "6.6", files: [sampleFile] }],
    [true, { text: original.text, editedTs: "6.6" }],
    [false, { text: original.text, editedTs: "6.6", files: [sampleFile] }],
    [false, { text: `<@U9> ${original.text}`, editedTs: "6.6", files: [sampleFile] }],
    [false, { text: `@U9 ${original.text}`, editedTs: "6.6", files: [sampleFile] }],
    [false, { text: "And who?", editedTs: "5.5", files: [sampleFile] }],
    [false, { text: "And who?", editedTs: "4.4", files: [sampleFile] }],
  ])("decides by time, text and files whether a version is new: %s", (isNew, change) => {
    expect(isNewVersion(knownTask, { ...original, ...change })).toBe(isNew);
  });
});

describe("a deletion", () => {
  it("ends silently when an unannounced message is deleted", () => {
    const { task, last } = play([deletion]);
    expect(task).toMatchObject({ state: "done", cleanupDone: true, message: { text: "" } });
    expect(last).toEqual([]);
  });

  it("looks for leftovers in the thread when a message is deleted after its worker died", () => {
    const { task, last } = play([{ ...deletion, workerDied: true }]);
    expect(task).toMatchObject({ state: "done", cleanupDone: false });
    expect(last).toMatchObject([{ type: "wake" }]);
  });

  it("cancels a task with a place in the thread when its message is deleted before it is sent", () => {
    for (const task of [queuedTask, announcedTask]) {
      const { task: endedTask } = play([deletion], { task });
      expect(endedTask).toMatchObject({
        state: "delivering",
        outcome: cancellation,
        reconcile: true,
      });
    }
  });
});

describe("files that Slack reports after the text", () => {
  const ask = sampleAsk({ files: [sampleFile] });

  it("reports late files as a change of the message if the record has fewer of them", () => {
    expect(findLateFiles(sampleTask(), ask)).toMatchObject({
      type: "message_change",
      message: { files: [sampleFile] },
    });
    const other = { ...sampleFile, id: "F2" };
    const more = sampleAsk({ files: [sampleFile, other] });
    const taskWith = (message: Partial<UserMessage>) =>
      sampleTask({ message: { ...original, ...message } });
    expect(findLateFiles(taskWith({ files: [other] }), more)).toBeDefined();
    for (const message of [
      { files: [sampleFile] },
      { files: [other] },
      { hadFiles: true as const },
      { editedTs: "9.9" },
    ]) {
      expect(findLateFiles(taskWith(message), ask)).toBeUndefined();
    }
    expect(findLateFiles(sampleTask(), sampleAsk())).toBeUndefined();
    expect(findLateFiles(sampleTask(), { ...ask, retryOf: ask.requestId })).toBeUndefined();
  });

  it("keeps the recorded text when late files arrive", () => {
    const event: TaskEvent = {
      type: "message_edited",
      nowMs,
      workerDied: false,
      message: { ...original, text: "Else", files: [sampleFile] },
    };
    const { task } = next({ task: queuedTask, event, policy: samplePolicy() });
    expect(task.message).toMatchObject({ text: original.text, files: [sampleFile] });
    expect(task.message).not.toHaveProperty("editedTs");
  });

  it("adds late files to an unsent task, which is prepared again, and ignores them once it is sent", () => {
    expect(withLateFiles(announcedTask, [sampleFile])).toMatchObject({
      message: { files: [sampleFile] },
    });
    expect(withLateFiles(announcedTask, [sampleFile]).call).not.toHaveProperty("params");
    const sentTask: Task = { ...announcedTask, state: "sent" };
    expect(withLateFiles(sentTask, [sampleFile])).toBe(sentTask);
  });
});
