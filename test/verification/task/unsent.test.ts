/** What becomes of a message before anything is sent: let in, counted, given a thread; or refused in words, or left alone. */
import { describe, expect, it, jest } from "@jest/globals";
import { isCancelWord } from "@sekisho/verification/task/command-words.ts";
import type { Act, TaskEvent } from "@sekisho/verification/task/events.ts";
import { next } from "@sekisho/verification/task/machine.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { announced, nowMs, play, success, toSent, woken, workerDied } from "./play.ts";
import { askedAtMs, sampleCall, sampleFile, samplePolicy, sampleTask } from "./sample.ts";

const threadTs = `${askedAtMs / 1000 - 60}.000100`;
const taskOf = (message: Partial<UserMessage>) =>
  sampleTask({ message: { ...sampleTask().message, ...message } });

const replyGiven = (
  decision: Extract<TaskEvent, { type: "reply_given" }>["decision"],
): TaskEvent => {
  return { type: "reply_given", nowMs, decision };
};

const ignoredTask = { state: "done", cleanupDone: true, message: { text: "" } };

const slack = (act: Act["type"], kind: "gone" | "refused" | "unavailable"): TaskEvent => ({
  type: "slack_failed",
  nowMs,
  act,
  kind,
});

describe("a message", () => {
  it("counts a message once its destination is known and before anything of it is visible", () => {
    const { asked } = play([woken, { type: "charged", over: undefined }]);
    expect(asked).toEqual([
      [{ type: "charge", untilMs: nowMs + 24 * 3600_000 + 60_000 }],
      [{ type: "announce", reconcile: false }],
    ]);
    const nowhere = play([woken], { policy: samplePolicy({ routed: false }) });
    expect(nowhere.task.outcome).toMatchObject({ reason: "agent_not_found", lost: false });
  });

  it("refuses a message over the limit with the time of the next allowed one", () => {
    const over = { by: "user", retryAtMs: nowMs + 60_000 } as const;
    const { task, last } = play([woken, { type: "charged", over }]);
    expect(task).toMatchObject({ outcome: { type: "limited", ...over } });
    expect(last).toEqual([{ type: "refuse" }]);
    expect(play([woken, { type: "refusal_shown" }], { task }).task).toMatchObject({
      state: "done",
      cleanupDone: true,
    });
    expect(task.call?.params).toBeUndefined();
  });

  it("accepts a message with only a file and refuses an empty one", () => {
    expect(play([woken], { task: taskOf({ text: "", files: [sampleFile] }) }).last).toMatchObject([
      { type: "announce" },
    ]);
    const empty = { ...taskOf({ text: "" }), wakeSeq: 1 };
    expect(play([woken], { task: empty }).task.outcome).toMatchObject({ reason: "invalid_params" });
  });

  it("waits once for files before it refuses an empty message, if Slack may send them in another event", () => {
    expect(play([woken], { task: taskOf({ text: "" }) }).last).toEqual([
      { type: "wake", delayMs: 2000 },
    ]);
    for (const message of [{ direct: true }, { command: true as const }, { editedTs: "9.9" }]) {
      const { task } = play([woken], { task: taskOf({ text: "", ...message }) });
      expect(task.outcome).toMatchObject({ reason: "invalid_params" });
    }
  });
});

describe("a message of another bot", () => {
  const botIds = ["B2"];

  it("ignores a message of another bot that is over a limit or empty", () => {
    const over = { by: "bots", retryAtMs: nowMs + 60_000 } as const;
    const cut = play([woken, { type: "charged", over }], { task: taskOf({ botIds }) });
    expect(cut).toMatchObject({
      task: { ...ignoredTask, outcome: { type: "limited", by: "bots" } },
      last: [],
    });
    const empty = { ...taskOf({ botIds, text: "" }), wakeSeq: 1 };
    expect(play([woken], { task: empty })).toMatchObject({ task: ignoredTask, last: [] });
  });

  it("makes a task of a message of another bot, and never a reply or a cancel", () => {
    const permission = { type: "permitted", nowMs, allowed: true, locale: "en" } as const;
    for (const text of ["yes", "cancel"]) {
      const step = {
        task: taskOf({ botIds, threadTs, text }),
        event: permission,
        policy: samplePolicy(),
      };
      expect(next(step).effects).toMatchObject([{ type: "charge" }]);
    }
  });
});

describe("another app's message before it is counted", () => {
  const task = taskOf({ botIds: ["B2"] });

  it("never replies to another bot's message before it is counted, even after a failure", () => {
    const lateMs = nowMs + 25 * 3600_000;
    const deadLetterStep = play([{ type: "dead_lettered", nowMs }], { task });
    expect([deadLetterStep.task.state, deadLetterStep.task.outcome]).toEqual([
      "received",
      undefined,
    ]);
    expect(deadLetterStep.last).toEqual([{ type: "wake", delayMs: 300_000 }]);
    expect(play([{ ...woken, nowMs: lateMs }], { task: deadLetterStep.task }).task).toMatchObject({
      state: "done",
      outcome: { type: "too_old" },
    });
    const failedStep = play([{ type: "step_failed", nowMs, causeKind: "TypeError" }], { task });
    expect([failedStep.task.state, failedStep.task.outcome]).toEqual(["done", undefined]);
  });

  it("posts a failure for another bot's message once it is counted and in its thread", () => {
    const countedTask = { ...task, queuePosition: 0 };
    const { outcome } = play([{ type: "dead_lettered", nowMs }], { task: countedTask }).task;
    expect(outcome).toMatchObject({ reason: "internal" });
  });
});

describe("a reply that does not speak to the bot", () => {
  const reply = taskOf({ threadTs, unaddressed: true });

  it("makes a task of a reply in a thread of the bot, unless that is switched off", () => {
    expect(play([woken], { task: reply }).last).toEqual([{ type: "announce", reconcile: false }]);
    const off = play([woken], { task: reply, policy: samplePolicy({ threadReplies: false }) });
    expect(off).toMatchObject({ task: ignoredTask, last: [] });
  });

  it("keeps only the id of an unaddressed reply that answers a question or is not allowed", () => {
    const refusal: TaskEvent = { type: "permitted", nowMs, allowed: false, locale: "en" };
    for (const event of [
      replyGiven("taken"),
      replyGiven("not_yours"),
      replyGiven("says_nothing"),
      refusal,
    ]) {
      expect(play([woken, event], { task: reply })).toMatchObject({ task: ignoredTask, last: [] });
    }
  });

  it("marks a refusal as external only in a channel with outsiders", () => {
    const outcomeOf = (isExternal: boolean) => {
      const event = { type: "permitted", nowMs, allowed: false, locale: "en", isExternal } as const;
      return play([woken, event]).task.outcome;
    };
    expect(outcomeOf(true)).toEqual({ type: "refused", external: true });
    expect(outcomeOf(false)).toEqual({ type: "refused" });
  });

  it("handles an unaddressed reply even after a dead letter or a day", () => {
    const deadLetterStep = play([{ type: "dead_lettered", nowMs }], { task: reply });
    expect(deadLetterStep).toMatchObject({
      task: { state: "received" },
      last: [{ type: "wake", delayMs: 300_000 }],
    });
    expect(play([woken], { task: deadLetterStep.task }).last).toEqual([
      { type: "announce", reconcile: true },
    ]);
    const lateMs = nowMs + 25 * 3600_000;
    const old = play(
      [
        { type: "dead_lettered", nowMs: lateMs },
        { ...woken, nowMs: lateMs },
      ],
      { task: reply },
    );
    expect(old.task).toMatchObject({ state: "delivering", outcome: { type: "too_old" } });
  });

  it("cleans up the thread of a reply that a worker may have announced before it was refused", () => {
    const refusal: TaskEvent = { type: "permitted", nowMs, allowed: false, locale: "en" };
    const refusedStep = play([{ type: "dead_lettered", nowMs }, woken, refusal], { task: reply });
    expect(refusedStep).toMatchObject({
      task: { state: "done", cleanupDone: false },
      last: [{ type: "wake" }],
    });
    expect(play([woken, { type: "cleaned_up" }], { task: refusedStep.task })).toMatchObject({
      task: ignoredTask,
      last: [],
    });
  });
});

describe("a message to the bot in a thread with an open question", () => {
  const mention = taskOf({ threadTs });

  it("treats a mention in a waiting thread as the answer, or says why it cannot be", () => {
    expect(play([woken, replyGiven("taken")], { task: mention })).toMatchObject({
      task: ignoredTask,
      last: [],
    });
    expect(play([woken, replyGiven("not_yours")], { task: mention }).task.outcome).toEqual({
      type: "not_yours",
    });
    expect(play([woken, replyGiven("says_nothing")], { task: mention }).task.outcome).toMatchObject(
      {
        reason: "invalid_params",
      },
    );
  });

  it("retries a moment later while a worker acts on the waiting task", () => {
    const { task, last } = play([woken, { type: "busy", delayMs: 1000 }], { task: mention });
    expect(task.state).toBe("received");
    expect(last).toMatchObject([{ type: "wake", delayMs: 1000 }]);
  });
});

describe("a slash command", () => {
  const command = taskOf({ command: true, text: "deploy" });
  const threadRef = { channel: "DU1", threadTs: "5.5" };
  const openedThread: TaskEvent = { type: "thread_opened", threadRef };

  it("opens a thread for an accepted command, in the channel or where only the person reads it", () => {
    for (const commandsPrivately of [false, true]) {
      const policy = samplePolicy({ commandsPrivately });
      const { asked, task } = play([woken, openedThread, woken], { task: command, policy });
      expect(asked[0]).toEqual([
        { type: "open_thread", privately: commandsPrivately, reconcile: false },
      ]);
      // It is in the record before anything is posted there.
      expect(asked.slice(1)).toEqual([
        [{ type: "wake", delayMs: 0 }],
        [{ type: "announce", reconcile: false }],
      ]);
      expect(task).toMatchObject({ threadRef, thread: "DU1/5.5" });
    }
    expect(play([workerDied], { task: command }).last).toMatchObject([
      { type: "open_thread", reconcile: true },
    ]);
  });

  it("reports a command that is too old in a direct message", () => {
    const { task } = play([{ ...woken, nowMs: nowMs + 25 * 3600_000 }], { task: command });
    expect(task.state).toBe("delivering");
    const openingStep = play([woken, openedThread, woken], { task });
    expect(openingStep.asked[0]).toEqual([
      { type: "open_thread", privately: true, reconcile: false },
    ]);
    expect(openingStep.last).toMatchObject([{ type: "deliver" }]);
  });

  it("opens no thread for a command that is over a limit or empty", () => {
    const limitedStep = play([woken, { type: "charged", over: { by: "channel" } }], {
      task: command,
    });
    const empty = play([woken], { task: taskOf({ command: true, text: "" }) });
    for (const { last } of [limitedStep, empty]) expect(last).toEqual([{ type: "refuse" }]);
    expect(empty.task.outcome).toMatchObject({ reason: "invalid_params" });
  });

  it("reports a full thread in the thread of a command that was already announced", () => {
    const behind = {
      type: "thread_joined",
      nowMs,
      queuePosition: 1,
      freeAtMs: nowMs,
      routes: [],
    } as const;
    const { task } = play([woken, openedThread, woken, behind, announced], { task: command });
    const full = play([{ type: "thread_full" }], { task });
    expect(full).toMatchObject({ task: { state: "delivering" }, last: [{ type: "wake" }] });
    expect(play([{ type: "thread_full" }]).last).toEqual([{ type: "refuse" }]);
  });

  it("sends a command with its own thread and reads no history from it", () => {
    const { task, last } = play([woken, openedThread, woken, announced, woken], { task: command });
    expect(last).toEqual([{ type: "send" }]);
    expect(task.call?.params).toMatchObject({ text: "deploy", channel: "C1", thread_ts: "5.5" });
  });
});

describe("the context of a message", () => {
  const inThread = taskOf({ threadTs, files: [sampleFile] });
  const ready = play(toSent, { task: inThread });
  const history = [{ role: "user" as const, text: "Earlier." }];
  const attachments = [
    {
      id: "F1",
      name: "plan.pdf",
      mimetype: "application/pdf",
      size: 10,
      url: "https://x.example/1",
    },
  ];

  it("prepares context and attachments before a send and keeps them unchanged from then on", () => {
    expect(ready.last).toEqual([{ type: "prepare" }]);
    const preparedStep = play([{ type: "prepared", context: { history, attachments } }], {
      task: ready.task,
    });
    expect(preparedStep.last).toEqual([{ type: "wake", delayMs: 0 }]);
    expect(preparedStep.task.call?.params).toMatchObject({
      thread_ts: threadTs,
      history,
      attachments,
    });
    const sentStep = play([woken], { task: preparedStep.task });
    expect(sentStep.last).toEqual([{ type: "send" }]);
    expect(sentStep.task.call?.params).toEqual(preparedStep.task.call?.params);
  });

  it("refuses a message unless all of its files are available, even if it has no text", () => {
    const two = [sampleFile, { ...sampleFile, id: "F2", name: "second.pdf" }];
    const cases = [
      {
        message: { text: "", files: [sampleFile] },
        context: { attachments: [] },
        name: "plan.pdf",
      },
      { message: { text: "", files: [sampleFile] }, context: {}, name: "plan.pdf" },
      { message: { text: "Read both.", files: two }, context: { attachments }, name: "second.pdf" },
      { message: { threadTs, files: [sampleFile] }, context: { history }, name: "plan.pdf" },
    ];
    for (const { message, context, name } of cases) {
      const gatheringStep = play(toSent, { task: taskOf(message) });
      expect(gatheringStep.last).toEqual([{ type: "prepare" }]);
      const { task, last } = play([{ type: "prepared", context }], { task: gatheringStep.task });
      expect(task.outcome).toEqual({ type: "file_refused", why: "not_to_be_had", name });
      expect(task.call?.params).toBeUndefined();
      expect(last).toMatchObject([{ type: "wake" }]);
    }
  });

  it("names a missing document of Slack in the refusal", () => {
    const canvas = {
      ...sampleFile,
      name: "Plan",
      mimetype: "application/vnd.slack-docs",
      url: undefined,
    };
    const gatheringStep = play(toSent, { task: taskOf({ files: [canvas] }) });
    const { task } = play([{ type: "prepared", context: {} }], { task: gatheringStep.task });
    expect(task.outcome).toEqual({
      type: "file_refused",
      why: "not_to_be_had",
      name: "Plan",
      detail: "canvas",
    });
  });

  it("adds the names of mentioned ids and the channel if the destination asks for them", () => {
    const policy = samplePolicy({ needsLookups: true });
    const gatheringStep = play(toSent, {
      task: taskOf({ text: "Tell @U1 and @U2" }),
      policy,
    });
    expect(gatheringStep.last).toEqual([{ type: "prepare" }]);
    const foundContext = { names: { U1: "Robin" }, context: { channel_name: "ops" } };
    const { task } = play([{ type: "prepared", context: foundContext }, woken], {
      task: gatheringStep.task,
      policy,
    });
    expect(task.call?.params).toMatchObject({
      text: "Tell @Robin and @U2",
      context: { channel_name: "ops" },
    });
    expect(task.message.text).toBe("Tell @U1 and @U2");
  });

  it("sends a task without names and channel if Slack fails", () => {
    const policy = samplePolicy({ needsLookups: true });
    const gatheringStep = play(toSent, { task: taskOf({ text: "Tell @U1" }), policy });
    const { task } = play([slack("prepare", "gone"), woken], { task: gatheringStep.task, policy });
    expect(task.call?.params).toMatchObject({ text: "Tell @U1" });
    expect(task.call?.params).not.toHaveProperty("context");
  });

  it("skips the preparation if there is neither a thread nor files", () => {
    const { last, task } = play(toSent);
    expect(last).toEqual([{ type: "send" }]);
    expect(task.call?.params).not.toHaveProperty("history");
    expect(task.call?.params).not.toHaveProperty("attachments");
  });

  it("sends a task without its history after failed tries, but never without its files", () => {
    const without = (task = ready.task) => {
      let current = play([slack("prepare", "unavailable")], { task }).task;
      for (
        let tries = 0;
        tries < 10 && current.call?.params === undefined && current.outcome === undefined;
        tries++
      ) {
        current = play([woken, slack("prepare", "unavailable")], { task: current }).task;
      }
      return current;
    };
    expect(without().outcome).toEqual({
      type: "file_refused",
      why: "not_to_be_had",
      name: "plan.pdf",
    });
    const alone = play(toSent, { task: taskOf({ threadTs }) }).task;
    expect(without(alone)).toMatchObject({
      state: "announced",
      call: { params: { thread_ts: threadTs } },
    });
    expect(play([slack("prepare", "gone")], { task: alone }).task.call?.params).toBeDefined();
  });

  it("refuses a task with a file that cannot be attached", () => {
    const outcome = { type: "file_refused", why: "too_large", name: "plan.pdf", most: 5 } as const;
    const { task } = play([{ type: "file_refused", outcome }], { task: ready.task });
    expect(task).toMatchObject({ state: "delivering", outcome });
    expect(task.call?.params).toBeUndefined();
  });
});

describe("the files of an answer", () => {
  const artifacts = [
    { name: "a.csv", text: "1,2" },
    { name: "b.csv", text: "3,4" },
  ];
  const withFiles: TaskEvent = { ...success, result: { ...success.result, artifacts } };
  const answeredTask = play([...toSent, withFiles]).task;
  const upload = (index: number, fileId: string | undefined): TaskEvent => ({
    type: "uploaded",
    index,
    fileId,
  });

  it("uploads the files of an answer one by one, records each, and then delivers the answer", () => {
    const events = [woken, upload(0, "F1"), woken, upload(1, "F2"), woken];
    const { asked, task } = play(events, { task: answeredTask });
    expect(asked.map(([effect]) => effect?.type)).toEqual([
      "upload",
      "wake",
      "upload",
      "wake",
      "deliver",
    ]);
    expect(asked[2]).toEqual([{ type: "upload", index: 1 }]);
    expect(task.outcome).toMatchObject({ uploads: [{ fileId: "F1" }, { fileId: "F2" }] });
  });

  it("delivers an answer without a file that Slack refuses and marks the file as missing", () => {
    const away: TaskEvent = slack("upload", "unavailable");
    let task = play([woken, away], { task: answeredTask }).task;
    for (let tries = 0; tries < 10; tries++) {
      const [effect] = play([woken], { task }).last;
      if (effect?.type !== "upload" || effect.index > 0) break;
      task = play([woken, away], { task }).task;
    }
    expect(task.outcome).toMatchObject({ type: "answer", uploads: [{ failed: true }] });
    const refusedStep = play([woken, upload(1, undefined), woken], { task });
    expect(refusedStep.task.outcome).toMatchObject({
      uploads: [{ failed: true }, { failed: true }],
    });
    expect(refusedStep.last).toMatchObject([{ type: "deliver" }]);
  });
});

describe("the cancel word", () => {
  it.each([
    "cancel",
    "Cancel",
    "CANCEL!",
    " cancel. ",
    "キャンセル",
    "中止。",
    "取り消し",
    "取消",
    "ｃａｎｃｅｌ",
    "*cancel*",
    "`cancel`",
    ...["cancel…"],
  ])("recognizes the cancel word %j", (text) => {
    expect(isCancelWord(text)).toBe(true);
  });

  it("finds the cancel word among blanks and never normalizes a long text", () => {
    const normalize = jest.spyOn(String.prototype, "normalize");
    expect(isCancelWord(`${" ".repeat(100)}cancel\n`)).toBe(true);
    const calls = normalize.mock.calls.length;
    expect(isCancelWord(`cancel${"\u0301".repeat(20_000)}${"\u0323".repeat(20_000)}`)).toBe(false);
    expect(isCancelWord(`cancel${"*".repeat(100)}`)).toBe(false);
    expect([calls, normalize.mock.calls.length]).toEqual([1, 1]);
    normalize.mockRestore();
  });

  it.each(["", "cancel the deployment", "please cancel", "cancel?", "cancelled", "キャンセルして"])(
    "rejects %j as the cancel word",
    (text) => {
      expect(isCancelWord(text)).toBe(false);
    },
  );
});

describe("optional files", () => {
  it("makes a task of a forwarded message with a file and without a comment", () => {
    const { last } = play([woken], { task: taskOf({ text: "", sharedFiles: [sampleFile] }) });
    expect(last).toMatchObject([{ type: "announce" }]);
  });

  it("names optional files that could not be attached in the last line of the text", () => {
    const announcedTask = {
      ...taskOf({ sharedFiles: [sampleFile] }),
      state: "announced" as const,
      call: sampleCall(),
    };
    const textWith = (leftOut: string[], text = "Look") => {
      const task = { ...announcedTask, message: { ...announcedTask.message, text } };
      return play([{ type: "prepared", context: { leftOut } }], { task }).task.call?.params?.text;
    };
    expect(textWith(["a.csv", "b.csv"])).toBe("Look\n\n(Not attached: a.csv, b.csv)");
    expect(textWith(["a.csv"], "")).toBe("(Not attached: a.csv)");
    expect(textWith([])).toBe("Look");
    expect(textWith(Array.from({ length: 12 }, (_, n) => `${n}`))).toMatch(/, 9, 2 more\)$/);
    const longest = "a".repeat(40_000);
    expect(textWith(["a.csv"], longest)).toBe(longest);
  });
});
