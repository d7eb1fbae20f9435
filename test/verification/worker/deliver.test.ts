import { describe, expect, it } from "@jest/globals";
import { FileRefused } from "@sekisho/verification/files/files.ts";
import type { PostKey, PostKind } from "@sekisho/verification/slack/api/post-keys.ts";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { SlackErrorKind } from "@sekisho/verification/task/events.ts";
import type { AgentQuestion, Task } from "@sekisho/verification/task/task.ts";
import { announceTask } from "@sekisho/verification/worker/acts/progress.ts";
import { cleanUpThread, deliver } from "@sekisho/verification/worker/deliver.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import {
  createFaults,
  deaths,
  type Fault,
  failing,
  failReads,
  faultKinds,
  type MaybeFault,
  nthFault,
  plannedFaults,
  refuseContent,
} from "../../world/faults.ts";
import type { Post } from "../../world/memory-slack.ts";
import { worldText } from "../../world/people.ts";
import { createWorldSlack } from "../../world/slack.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk, sampleTask } from "../task/sample.ts";

const task = sampleTask({
  state: "delivering",
  placeholder: {
    ts: `${Number(sampleTask().message.ts) + 1}`,
    postedAtMs: sampleTask().receivedAtMs,
  },
  outcome: { type: "answer", text: "A checkpoint." },
});

const { channel, ts: threadTs } = task.message;
const key = (kind: PostKind, index = 0): PostKey => ({ requestId: task.id, kind, index });
const signal = new AbortController().signal;
const reactions = { received: "eyes", done: "check", failed: "cross" };

const request = {
  task,
  text: worldText,
  indicators: { reactions, status: false, sessions: false },
  signal,
  nowMs: task.receivedAtMs,
};

/** A thread with the placeholder (or the answer that it became), in which some methods fail. */
function slackThread(
  failing: Partial<Record<keyof SlackApi, SlackErrorKind>> = {},
  kind: PostKind = "placeholder",
) {
  const { operate } = createFaults({
    fault({ name }) {
      const kind = failing[name as keyof SlackApi];
      if (kind !== undefined) throw new SlackError(kind);
    },
    now: Date.now,
  });
  let count = 1;
  const newTs = () => `${Number(threadTs) + ++count}`;
  const { posts, marks, api } = createWorldSlack({
    operate,
    now: () => 0,
    newTs,
  });
  const first: Post = {
    ts: task.placeholder?.ts ?? "",
    channel,
    threadTs,
    text: "Working on it",
    key: key(kind),
    from: "self",
    user: "UBOT",
    fileIds: [],
    blocks: [{ type: "markdown", text: "Working on it" }],
    ...{ streams: false, atMs: 0, isLate: false },
  };
  posts.push(first);
  const add = (post: Partial<Post>) =>
    void posts.push({ ...first, ts: newTs(), key: undefined, ...post });
  return {
    slack: api({ isAlive: true }),
    texts: () => posts.map(({ text }) => text),
    posts,
    marks,
    add,
  };
}

describe("a delivery", () => {
  it.each(["no_such_message", "refused"] as const)(
    "posts a new message if the edit is impossible (%s) and removes the placeholder",
    async (kind) => {
      const { slack, texts } = slackThread({ update: kind });
      await deliver({ ...request, slack, reconcile: false });
      expect(texts()).toEqual(["A checkpoint."]);
    },
  );

  it("relies on the record if Slack refuses to read the thread", async () => {
    for (const kind of ["refused", "gone"] as const) {
      const { slack, texts } = slackThread({ replies: kind });
      await deliver({ ...request, slack, reconcile: true });
      expect(texts()).toEqual(["A checkpoint."]);
    }
  });

  it("relies on the record only after six rate-limited reads of the thread", async () => {
    const { slack, texts } = slackThread({ replies: "rate_limited" });
    const tried = (limitedReads: number) => ({
      ...request,
      task: { ...task, attempts: 100, limitedReads },
      slack,
      reconcile: true,
    });
    await expect(deliver(tried(5))).rejects.toMatchObject({ kind: "rate_limited" });
    expect(texts()).toEqual(["Working on it"]);
    await deliver(tried(6));
    expect(texts()).toEqual(["A checkpoint."]);
  });

  it.each<[string, Partial<Task>, string[]]>([
    ["an answer", {}, ["check"]],
    [
      "a failure",
      { outcome: { type: "failed", reason: "execution_failed", lost: false } },
      ["cross"],
    ],
    ["a cancel", { outcome: { type: "failed", reason: "canceled", lost: false } }, []],
    [
      "a cancel that nobody could confirm",
      { outcome: { type: "failed", reason: "ambiguous", lost: false }, cancelReason: "asked" },
      [],
    ],
    [
      "a task whose end is unknown",
      { outcome: { type: "failed", reason: "ambiguous", lost: false }, cancelReason: "deadline" },
      ["cross"],
    ],
  ])("sets the reaction on the message of %s by its outcome", async (_name, changes, expected) => {
    const { slack, marks } = slackThread();
    await deliver({ ...request, task: { ...task, ...changes }, slack, reconcile: false });
    expect([...marks]).toEqual(expected.map((name) => `${task.message.ts} ${name}`));
  });

  it("ignores a reaction that cannot be removed", async () => {
    const { slack, texts } = slackThread({ react: "refused" });
    await deliver({ ...request, slack, reconcile: false });
    expect(texts()).toEqual(["A checkpoint."]);
  });

  it("replaces a placeholder that cannot be deleted by a text without a button", async () => {
    const { slack, posts, texts } = slackThread({ remove: "no_such_message" });
    const late = { ...request, nowMs: task.receivedAtMs + 60_001 };
    await deliver({ ...late, task, slack, reconcile: false });
    expect(texts()).toEqual(["Replaced.", "A checkpoint."]);
    expect(posts[0]).toMatchObject({ blocks: [], key: { kind: "replaced" } });
  });

  it("posts a new message if an edit of the placeholder may still arrive", async () => {
    const { slack, texts } = slackThread({ update: "gone" });
    const inDoubt: Task = { ...task, progress: { shownAtMs: task.receivedAtMs, inDoubt: true } };
    await deliver({ ...request, task: inDoubt, slack, reconcile: false });
    expect(texts()).toEqual(["A checkpoint."]);
  });

  it.each<[string, Partial<AgentQuestion>, string]>([
    ["answered", { answer: { user: "U1", atMs: 0, option: 0, callId: "c" } }, "Shall I? U1: 0"],
    ["not answered", {}, "Shall I? It is too late."],
    [
      "posted by a worker that died before it wrote that down",
      { ts: undefined },
      "Shall I? It is too late.",
    ],
  ])("removes the buttons of a question that was %s", async (_name, changes, text) => {
    const { slack, posts, add } = slackThread();
    add({ text: "Shall I?", key: key("question") });
    const ts = posts[1]?.ts ?? "";
    const options = [{ id: "yes", label: "Yes" }];
    const times = { askedAtMs: task.receivedAtMs, expiresAtMs: task.receivedAtMs + 3600_000 };
    const question: AgentQuestion = {
      index: 0,
      prompt: "Shall I?",
      options,
      ...times,
      ts,
      ...changes,
    };
    await deliver({ ...request, task: { ...task, question }, slack, reconcile: false });
    expect(posts.find((post) => post.ts === ts)).toMatchObject({ text, blocks: [] });
    expect(posts.map((post) => post.text)).toContain("A checkpoint.");
  });

  it("keeps the question in the thread if its text is erased from the record", async () => {
    const { slack, posts, add } = slackThread();
    add({ text: "Shall I?", key: key("question") });
    add({ text: "Which one?", key: key("question", 1), hasButtons: true });
    const times = { askedAtMs: task.receivedAtMs, expiresAtMs: task.receivedAtMs };
    for (const index of [0, 1]) {
      const question = { index, prompt: "", options: [], ...times, ts: posts[index + 1]?.ts };
      const erasedTask: Task = { ...task, question, textsErased: true };
      await deliver({ ...request, task: erasedTask, slack, reconcile: true });
      await cleanUpThread({ ...request, task: erasedTask, slack });
    }
    expect(posts.filter((post) => post.key?.kind === "question")).toMatchObject([
      { text: "Shall I?" },
      { text: "Which one?", blocks: [], hasButtons: undefined },
    ]);
  });

  it("takes only a known stream, or a possible one in doubt, as its own", async () => {
    const known = slackThread();
    known.add({ text: "A check" });
    known.add({ text: "of another task" });
    const [, ours, others] = known.posts;
    const stream = { messages: [{ ts: ours?.ts ?? "", startedAtMs: 0 }], length: 7 };
    await deliver({ ...request, task: { ...task, stream }, slack: known.slack, reconcile: true });
    expect(known.posts.map(({ ts, text }) => [ts, text])).toEqual([
      [ours?.ts, "A checkpoint."],
      [others?.ts, "of another task"],
    ]);

    const lost = slackThread();
    lost.add({ text: "A check" });
    lost.add({ text: "a file", fileIds: ["F9"] });
    lost.add({ text: "said by a person", from: "person" });
    lost.add({ text: "said by another bot", from: "other_bot" });
    const doubt: Task["stream"] = { messages: [], length: 0, inDoubt: true };
    await deliver({
      ...request,
      task: { ...task, stream: doubt },
      slack: lost.slack,
      reconcile: false,
    });
    expect(lost.texts()).toEqual([
      "A checkpoint.",
      "a file",
      "said by a person",
      "said by another bot",
    ]);
  });
});

describe("the last words", () => {
  const undelivered = { ...task, delivery: { status: "failure_notice" } } as const;

  it("posts the failure notice as one message without an edit, even if the thread cannot be read", async () => {
    const { slack, posts } = slackThread({
      replies: "rate_limited",
      update: "rate_limited",
      remove: "rate_limited",
    });
    await deliver({ ...request, task: undelivered, slack, reconcile: false });
    expect(posts.map(({ key }) => key?.kind)).toEqual(["placeholder", "own_text"]);
  });

  it("never repeats a failure notice in the thread and removes everything else in the cleanup", async () => {
    const { slack, posts, add } = slackThread();
    add({ key: key("answer") });
    add({ key: key("own_text") });
    await deliver({ ...request, task: undelivered, slack, reconcile: true });
    expect(posts).toHaveLength(3);
    await cleanUpThread({ ...request, task: { ...undelivered, state: "done" }, slack });
    expect(posts.map(({ key }) => key?.kind)).toEqual(["own_text"]);
  });

  it("posts the failure notice beside a further part whose first one a person has deleted", async () => {
    const { slack, posts, add } = slackThread();
    add({ key: key("own_text", 1) });
    await deliver({ ...request, task: undelivered, slack, reconcile: true });
    await cleanUpThread({ ...request, task: { ...undelivered, state: "done" }, slack });
    expect(posts.map(({ key }) => [key?.kind, key?.index])).toEqual([["own_text", 0]]);
  });

  it("keeps the posted parts of an answer if the failure notice was not posted", async () => {
    const { slack, posts, add } = slackThread();
    add({ key: key("answer") });
    await cleanUpThread({ ...request, task: { ...undelivered, state: "done" }, slack });
    expect(posts.map(({ key }) => key?.kind)).toEqual(["answer"]);
  });
});

describe("the sweep", () => {
  const question = {
    ...{ index: 1, prompt: "Shall I?", options: [], askedAtMs: task.receivedAtMs },
    expiresAtMs: task.receivedAtMs + 1000,
  };

  it("keeps the recorded question and removes the buttons of every remaining one", async () => {
    const { slack, posts, add } = slackThread({}, "answer");
    add({ text: "Which one?", key: key("question"), hasButtons: true });
    add({ text: "landed late", key: key("question", 1), hasButtons: true });
    add({ text: "Shall I?", key: key("question", 1), hasButtons: true });
    const recorded = { ...task, question: { ...question, ts: posts[3]?.ts } };
    await cleanUpThread({ ...request, task: recorded, slack });
    expect(posts.map(({ ts }) => ts)).toEqual([posts[0]?.ts, posts[1]?.ts, recorded.question.ts]);
    expect(posts[1]).toMatchObject({ text: "Which one?", key: key("question") });
    expect(posts.filter(({ hasButtons }) => hasButtons)).toEqual([]);
  });

  it("shows the recorded question as over and keeps the text of an earlier one", async () => {
    const { slack, posts, add } = slackThread({}, "answer");
    add({ text: "Which one?", key: key("question"), hasButtons: true });
    add({ text: "Shall I?", key: key("question", 1), hasButtons: true });
    const recorded = { ...task, question: { ...question, ts: posts[2]?.ts } };
    await cleanUpThread({ ...request, task: recorded, slack });
    expect(posts.slice(1).map(({ text }) => text)).toEqual([
      "Which one?",
      "Shall I? It is too late.",
    ]);
  });

  it.each(["refused", "no_such_message"] as const)(
    "deletes a question that cannot be edited (%s), because its buttons would stay",
    async (kind) => {
      const { slack, posts, add } = slackThread({ update: kind }, "answer");
      add({ text: "Shall I?", key: key("question", 1), hasButtons: true });
      await cleanUpThread({ ...request, task: { ...task, question }, slack });
      expect(posts.map(({ key: found }) => found?.kind)).toEqual(["answer"]);
    },
  );

  it.each([undefined, { channel, threadTs: "7.7" }])(
    "keeps only the opening of the thread of the command: %j",
    async (threadRef) => {
      const { slack, posts, add } = slackThread({}, "answer");
      posts.length = 0;
      for (const ts of ["7.7", "7.8"]) add({ ts, threadTs: undefined, key: key("opening") });
      const command = {
        ...task,
        message: { ...task.message, command: true as const, ts: "7.6" },
        threadRef,
      };
      await cleanUpThread({ ...request, task: command, slack });
      expect(posts.map(({ ts }) => ts)).toEqual(threadRef === undefined ? [] : ["7.7"]);
    },
  );

  it("keeps openings of other commands and other posts of its own in the channel", async () => {
    const { slack, posts, add } = slackThread({}, "answer");
    posts.length = 0;
    add({ ts: "7.7", threadTs: undefined, key: key("opening") });
    add({ ts: "7.8", threadTs: undefined, key: { ...key("opening"), requestId: "another" } });
    add({ ts: "7.9", threadTs: undefined, key: key("question") });
    const message = { ...task.message, command: true as const, ts: "7.6" };
    await cleanUpThread({
      ...request,
      task: { ...task, message, threadRef: { channel, threadTs: "7.7" } },
      slack,
    });
    expect(posts.map(({ ts }) => ts)).toEqual(["7.7", "7.8", "7.9"]);
  });

  it("deletes nothing if Slack refuses to read the thread", async () => {
    const { slack, texts } = slackThread({ replies: "refused" }, "answer");
    await expect(cleanUpThread({ ...request, slack })).rejects.toMatchObject({ kind: "refused" });
    expect(texts()).toHaveLength(1);
  });

  it("posts nothing in the cleanup, because a missing post was deleted by a person", async () => {
    const { slack, posts } = slackThread();
    posts.length = 0;
    await cleanUpThread({ ...request, slack });
    expect(posts).toEqual([]);
  });
});

it("announces a task even if Slack refuses to read the thread", async () => {
  const { slack, texts } = slackThread({ replies: "refused" });
  const { placeholder: _none, ...received } = task;
  await announceTask({
    ...request,
    task: { ...received, state: "received" },
    slack,
    reconcile: true,
  });
  expect(texts()).toHaveLength(2);
});

const ask = sampleAsk();

const artifacts = [
  { name: "a.csv", text: "1,2" },
  { name: "b.csv", text: "3,4" },
];

const story = () => ({ status: "success", response_text: "Here they are.", artifacts }) as const;

function shown(world: ReturnType<typeof createWorld>) {
  return world.posts.map(({ text, fileIds }) => [text, fileIds]);
}

const allIsWell = [
  ["Here they are.", []],
  ["a.csv,b.csv", ["F1", "F2"]],
];

describe("the files of an answer", () => {
  it("shares the files once after any fault of the share, and removes a doubled one", async () => {
    for (const fault of faultKinds) {
      const world = createWorld({
        story,
        fault: nthFault(0, fault, "shareUploads"),
      });
      await world.deliver(ask).run();
      expect({ fault, shown: shown(world) }).toEqual({ fault, shown: allIsWell });
      expect(world.uploads).toHaveLength(2);
    }
  });

  it("reports refused files as missing and shares the others", async () => {
    for (const error of [
      new FileRefused({ why: "too_large", name: "a.csv" }),
      new SlackError("unavailable"),
    ]) {
      const upload = async ({ index }: { index: number }) => {
        if (index === 0) throw error;
        return { fileId: "F9" };
      };
      const world = createWorld({ story, files: { upload } });
      await world.deliver(ask).run();
      expect(shown(world)).toEqual([
        ["Here they are. (1 files are missing)", []],
        ["b.csv", ["F9"]],
      ]);
    }
  });

  it("uploads each file once, unless a worker dies before it records the upload", async () => {
    for (const fault of ["refused", "lost", "dies_before", "dies_after"] as const) {
      for (let nth = 0; nth < 2; nth++) {
        const world = createWorld({
          story,
          fault: nthFault(nth, fault, "upload"),
        });
        await world.deliver(ask).run();
        expect(world.uploads.length).toBe(fault === "dies_after" ? 3 : 2);
        expect(world.posts.filter(({ fileIds }) => fileIds.length > 0)).toHaveLength(1);
        expect(world.posts.find(({ fileIds }) => fileIds.length > 0)?.fileIds).toHaveLength(2);
      }
    }
  });

  it("keeps the answer and reports its files as missing if Slack refuses to share them", async () => {
    for (const kind of ["refused", "gone", "no_such_message"] as const) {
      for (const pollsUntilDone of [0, 40]) {
        const world = createWorld({
          ...{ policy: { deadlineMs: 8 * 3600_000 }, pollsUntilDone },
          story: () => ({ ...story(), response_text: "Here|they are." }),
          fault: failing(new SlackError(kind), "shareUploads"),
        });
        await world.deliver(ask).run();
        expect({ kind, pollsUntilDone, shown: shown(world) }).toEqual({
          ...{ kind, pollsUntilDone },
          shown: [
            ["Here", []],
            ["they are. (2 files are missing)", []],
          ],
        });
        expect([...world.marks]).toEqual([`${ask.message.ts} check`]);
        expect(world.uploads).toHaveLength(2);
      }
    }
  });

  it("leaves one answer if Slack refuses the files and a worker dies at any operation", async () => {
    for (const fault of deaths) {
      for (let nth = 0; nth < 60; nth++) {
        let seen = 0;
        const world = createWorld({
          story,
          fault({ name }) {
            if (seen++ === nth) return fault;
            if (name === "shareUploads") throw new SlackError("refused");
            return undefined;
          },
        });
        await world.deliver(ask).run();
        // A worker that died of sharing has shared: then the files are there.
        const isThere = world.posts.some(({ fileIds }) => fileIds.length > 0);
        const wanted = isThere ? allIsWell : [["Here they are. (2 files are missing)", []]];
        expect({ fault, nth, shown: shown(world) }).toEqual({ fault, nth, shown: wanted });
      }
    }
  });

  it("shares files with a plain-text answer, but not with a failure in its place", async () => {
    const plain = createWorld({
      story,
      fault: refuseContent(({ text, blocks }) => text === "Here they are." && blocks !== undefined),
    });
    const never = createWorld({
      story,
      fault: refuseContent(({ text }) => text === "Here they are."),
    });
    for (const world of [plain, never]) {
      await world.deliver(ask).run();
    }
    expect(shown(plain)).toEqual(allIsWell);
    expect(shown(never)).toEqual([[expect.stringContaining('"internal"'), []]]);
    expect(plain.uploads).toHaveLength(2);
  });

  it("posts the answer and its files once despite faults of every kind at random points", async () => {
    const anyFault = fc.constantFrom<Fault>(...faultKinds);
    await forAll(fc.array(fc.tuple(fc.nat({ max: 70 }), anyFault), { maxLength: 5 })).holdAsync(
      async (faults) => {
        const world = createWorld({ story, pollsUntilDone: 1, fault: plannedFaults(faults) });
        await world.deliver(ask).run();
        expect(world.posts.map(({ text }) => text)).toEqual(["Here they are.", "a.csv,b.csv"]);
      },
      200,
    );
  });
});

const parentTs = `${askedAtMs / 1000}.000001`;

function askOf(n: number) {
  return numberedAsk(n, { ts: `${askedAtMs / 1000}.00010${n}`, threadTs: parentTs });
}

it.each(["And then?", "cancel"])(
  "an unreadable record ends no other task of its thread (%s)",
  async (text) => {
    const [first, second] = [askOf(1), askOf(2)];
    let isUnreadable = false;
    const world = createWorld({
      pollsUntilDone: 3,
      fault: failReads(({ id }) => isUnreadable && id === first.requestId),
    });
    await world.deliver(first).run({ until: () => world.taskOf(first)?.state === "waiting" });
    isUnreadable = true;
    await world.deliver({ ...second, message: { ...second.message, text } }).run({ maxSteps: 6 });
    isUnreadable = false;
    await world.run();
    const answers = [...world.answers(), ...world.ephemeralMessages.map((notice) => notice.text)];
    expect(answers).toHaveLength(2);
    expect(answers.filter((answer) => answer.includes("failed"))).toEqual([]);
  },
);

it("an answer stays in the thread while posts beside it cannot be removed", async () => {
  const ask = askOf(1);
  const dayMs = 24 * 3600_000;
  const world: ReturnType<typeof createWorld> = createWorld({
    pollsUntilDone: 20,
    fault: ({ name }): MaybeFault =>
      name === "remove" && world.now() < askedAtMs + dayMs + 2 * 3600_000 && "lost",
  });
  await world.deliver(ask).run({ maxSteps: 6000 });
  expect(world.posts.map(({ key }) => key?.kind)).toEqual(["answer"]);
});

it("an answer is posted once if the thread cannot be read and nothing beside it can be removed", async () => {
  const world = createWorld({
    pollsUntilDone: 20,
    fault({ name }): MaybeFault {
      if (name === "replies") throw new SlackError("refused");
      return name === "remove" && "lost";
    },
  });
  await world.deliver(askOf(1)).run({ maxSteps: 300 });
  expect(world.answers()).toHaveLength(1);
});

it("posts an answer once if Slack limits the first read of the thread after an outage", async () => {
  let outageEndsAtMs: number | undefined;
  let reads = 0;
  const world: ReturnType<typeof createWorld> = createWorld({
    pollsUntilDone: 26,
    fault({ party, name, content }): MaybeFault {
      if (party !== "slack") return undefined;
      if (outageEndsAtMs === undefined) {
        if (name !== "post" || content?.text !== "A checkpoint.") return undefined;
        outageEndsAtMs = world.now() + 120_000;
        return "lost";
      }
      if (world.now() < outageEndsAtMs) return "refused";
      if (name === "replies" && reads++ === 0) throw new SlackError("rate_limited");
      return undefined;
    },
  });
  await world.deliver(askOf(1)).run();
  expect(reads).toBeGreaterThan(1);
  expect(world.answers()).toEqual(["A checkpoint."]);
  expect(world.doubled()).toBe(0);
});
