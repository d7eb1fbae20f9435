/** The agent tells on its way: edits of the placeholder, or a native stream that in the end is the answer. */
import { describe, expect, it } from "@jest/globals";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { deaths, failing, type MaybeFault, nthFault, refuseContent } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const full = "A checkpoint on an old highway, where travellers were verified.";
const story = () => ({ status: "success", response_text: full }) as const;

/** A longer piece of the answer at each poll. */
const progress = (polls: number) => ({
  text: `step ${polls}`,
  partial_text: full.slice(0, 8 * (polls + 1)),
});

/** `operations` has the names of what was asked of Slack, in their order, with the time. */
function watchWorld(options: Parameters<typeof createWorld>[0] = {}) {
  const operations: { name: string; atMs: number }[] = [];
  const world: ReturnType<typeof createWorld> = createWorld({
    story,
    progress,
    pollsUntilDone: 5,
    ...options,
    async fault(operation) {
      const fault = await options.fault?.(operation);
      if (operation.party === "slack") operations.push({ name: operation.name, atMs: world.now() });
      return fault;
    },
  });
  return {
    world,
    operations,
    count: (name: string) => operations.filter((each) => each.name === name).length,
  };
}

describe("a stream", () => {
  it.each([
    ["T1", {}],
    ["T2", { userTeam: "T2" }],
  ])("streams to the person in their own workspace: %s", async (team, from) => {
    const { world } = watchWorld({ slack: { streaming: true } });
    await world.deliver({ ...ask, message: { ...ask.message, ...from } }).run();
    expect(new Set(world.recipients)).toEqual(new Set([`U1 of ${team}`]));
  });
});

it("leaves the stream unchanged while the agent adds only spaces", async () => {
  const { world, count } = watchWorld({
    slack: { streaming: true },
    pollsUntilDone: 20,
    progress: (polls) => ({ partial_text: `A checkpoint on${" ".repeat(polls)}` }),
  });
  await world.deliver(ask).run();
  expect([count("startStream"), count("appendStream")]).toEqual([1, 0]);
});

describe("a stream that a person stops in Slack", () => {
  /** Slow enough that the stream goes on in a new message, before which the former one is stopped. */
  const slow = (polls: number) => ({
    partial_text: full.slice(0, 8 * Math.ceil((polls + 1) / 40)),
  });

  it.each([
    ["appendStream", progress],
    ["stopStream", slow],
  ])(
    "cancels the task and stops streaming when Slack reports the stop at %s",
    async (name, progress) => {
      const stopError = new SlackError("refused", { slackError: "stopped_by_user" });
      let isStopped = false;
      const { world, operations } = watchWorld({
        ...{
          slack: { streaming: true },
          cancelable: true,
          pollsUntilDone: 600,
          policy: { deadlineMs: 3600_000 },
          progress,
        },
        fault: async (operation): Promise<MaybeFault> => {
          if (operation.name !== name) return;
          isStopped = true;
          throw stopError;
        },
      });
      await world.deliver(ask).run({ until: () => isStopped });
      const operationCount = operations.length;
      await world.run();
      expect(world.cancels).toMatchObject([{ params: { reason: "asked" } }]);
      expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
      const later = operations.slice(operationCount).map((operation) => operation.name);
      expect(later.filter((each) => each === "startStream" || each === "appendStream")).toEqual([]);
    },
  );
});

describe("the agent's progress", () => {
  it("edits the placeholder at most once a second", async () => {
    const { world, operations } = watchWorld();
    await world.deliver(ask).run();
    const edits = operations.filter(({ name }) => name === "update").map(({ atMs }) => atMs);
    expect(edits.length).toBeGreaterThan(2);
    for (const [index, atMs] of edits.entries()) {
      if (index > 0) expect(atMs - (edits[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
    }
    expect(world.posts.map(({ text }) => text)).toEqual([full]);
  });

  it("shows steps beside a stream, or as lines if Slack refuses their block", async () => {
    const steps = [{ id: "a", title: "Read", status: "in_progress" as const }];
    const forms: string[] = [];
    const { world, count } = watchWorld({
      slack: { streaming: true },
      progress: (polls) => ({ ...progress(polls), steps }),
      text: {
        placeholder(task) {
          const hasPlan = task.progress?.steps !== undefined && !task.mrkdwnFallback;
          if (task.progress !== undefined) forms.push(hasPlan ? "plan" : "lines");
          return { text: "Working", ...(hasPlan && { blocks: [{ type: "plan" }] }) };
        },
      },
      fault: refuseContent(({ blocks = [] }) => blocks.some(({ type }) => type === "plan")),
    });
    await world.deliver(ask).run();
    expect(forms.slice(0, 2)).toEqual(["plan", "lines"]);
    expect(count("startStream")).toBe(1);
    expect(world.answers()).toEqual([full]);
  });

  it("posts the answer as a new message if an edit may still arrive", async () => {
    for (const fault of ["lost", "answer_lost", "slow"] as const) {
      let edits = 0;
      const { world } = watchWorld({
        fault: ({ name }): MaybeFault => name === "update" && edits++ === 1 && fault,
      });
      await world.deliver(ask).run();
      expect({ fault, texts: world.posts.map(({ text }) => text) }).toEqual({
        fault,
        texts: [full],
      });
    }
  });

  it("delivers the answer promptly while Slack limits edits, and tries only one edit meanwhile", async () => {
    let isDone = false;
    let edits = 0;
    const rateLimit = new SlackError("rate_limited", { retryAfterMs: 300_000 });
    const { world } = watchWorld({
      story() {
        isDone = true;
        return story();
      },
      fault: failing(rateLimit, ({ name }) => name === "update" && !isDone && ++edits > 0),
    });
    await world.deliver(ask).run();
    expect(edits).toBe(1);
    const history = world.taskOf(ask)?.history ?? [];
    const atMs = (state: string) =>
      history.find((step) => step.state === state)?.atMs ?? Number.NaN;
    expect(atMs("done") - atMs("delivering")).toBeLessThan(5000);
  });
});

describe("a stream of Slack", () => {
  it("starts a stream with the first piece, appends to it and turns it into the answer", async () => {
    const { world, count } = watchWorld({ slack: { streaming: true } });
    await world.deliver(ask).run({ until: () => count("appendStream") > 1 });
    const stream = world.posts.find(({ streams }) => streams);
    expect(full.startsWith(stream?.text ?? "?")).toBe(true);
    await world.run();
    expect(count("startStream")).toBe(1);
    expect(count("stopStream")).toBe(1);
    expect(world.posts.map(({ ts, text }) => [ts, text])).toEqual([[stream?.ts, full]]);
  });

  it("continues a stream in a new message before four minutes, so that Slack never closes it", async () => {
    const slow = (polls: number) => ({ partial_text: "word ".repeat(polls + 1) });
    const { world, count } = watchWorld({
      slack: { streaming: true },
      progress: slow,
      pollsUntilDone: 600,
      policy: { deadlineMs: 3600_000 },
    });
    world.deliver(ask);
    let longest = 0;
    const began = new Map<string, number>();
    for (let round = 0; round < 5000 && world.answers().length === 0; round++) {
      await world.run({ maxSteps: 1 });
      for (const { ts, streams, atMs } of world.posts) {
        if (!streams) continue;
        began.set(ts, atMs);
        longest = Math.max(longest, world.now() - atMs);
      }
    }
    await world.run();
    expect(began.size).toBeGreaterThan(2);
    expect(count("startStream")).toBe(began.size);
    // A last look may come later; nothing was appended by then.
    expect(longest).toBeLessThan(300_000);
    expect(world.posts.map(({ text }) => text)).toEqual([full]);
  });

  it.each(["startStream", "appendStream"])(
    "falls back to edits and leaves nothing of the stream if Slack refuses %s",
    async (name) => {
      const { world, count } = watchWorld({
        slack: { streaming: true },
        fault: failing(new SlackError("refused"), name),
      });
      await world.deliver(ask).run();
      expect(count(name)).toBe(0);
      expect(count("update")).toBeGreaterThan(1);
      expect(world.posts.map(({ text }) => text)).toEqual([full]);
    },
  );

  it("removes an unknown stream or turns it into the answer, so that the thread shows it once", async () => {
    for (const name of ["startStream", "appendStream", "stopStream", "update"]) {
      for (const fault of ["refused", "lost", "answer_lost", "slow", ...deaths] as const) {
        for (let nth = 0; nth < 2; nth++) {
          const { world } = watchWorld({
            slack: { streaming: true },
            fault: nthFault(nth, fault, name),
          });
          await world.deliver(ask).run();
          const texts = world.posts.map(({ text }) => text);
          expect({ name, fault, nth, texts }).toEqual({ name, fault, nth, texts: [full] });
        }
      }
    }
  });

  it.each(deaths)("leaves one answer after a crash at any single point (%s)", async (fault) => {
    for (let nth = 0; nth < 90; nth++) {
      const { world } = watchWorld({ slack: { streaming: true }, fault: nthFault(nth, fault) });
      await world.deliver(ask).run();
      const texts = world.posts.map(({ text }) => text);
      expect({ fault, nth, texts, starts: world.starts.length }).toEqual({
        fault,
        nth,
        texts: [full],
        starts: 1,
      });
    }
  });
});

/** All texts that the thread showed beside the placeholder, and how often that was edited. */
async function showPartials(partials: readonly string[]) {
  const texts: string[] = [];
  let edits = 0;
  let streams = 0;
  const world: ReturnType<typeof createWorld> = createWorld({
    slack: { streaming: true },
    story: () => ({ status: "success", response_text: "The answer." }),
    progress: (polls) => ({
      partial_text: partials[Math.min(Math.max(0, polls - 1), partials.length - 1)] ?? "",
    }),
    pollsUntilDone: partials.length + 2,
    fault({ name }) {
      if (name === "update") edits += 1;
      if (name === "startStream") streams += 1;
    },
  });
  const isStreamed = () => world.posts.find(({ streams }) => streams);
  await world.deliver(ask).run({
    until() {
      const text = isStreamed()?.text;
      if (text !== undefined && texts.at(-1) !== text) texts.push(text);
      return world.answers().length > 0;
    },
  });
  await world.run();
  return { texts, edits, streams, answers: world.posts.map(({ text }) => text) };
}

describe("a stream of Slack", () => {
  it("notifies nobody and hides no address, wherever the agent's text ends for the moment", async () => {
    const { texts, answers } = await showPartials([
      "See <",
      "See <!channel> and [https://bank.example",
      "See <!channel> and [https://bank.example](https://evil.example) ",
    ]);
    expect(texts).toEqual([
      "See ",
      "See <\u2060!channel> and ",
      "See <\u2060!channel> and https://bank.example (https://evil.example) ",
    ]);
    expect(answers).toEqual(["The answer."]);
  });

  it("continues with edits of the placeholder if the agent rewrites its text", async () => {
    const { texts, edits, answers } = await showPartials([
      "One thing. ",
      "Another thing. And ",
      "Another thing. And more. ",
    ]);
    expect(texts).toEqual(["One thing. "]);
    expect(edits).toBeGreaterThan(0);
    expect(answers).toEqual(["The answer."]);
  });

  it("uses twenty messages for a stream at most and then edits the placeholder", async () => {
    const text = "One more line of it.\n".repeat(15_000);
    const { streams, edits, answers } = await showPartials(
      Array.from({ length: 60 }, (_, poll) => text.slice(0, (poll + 1) * 5250)),
    );
    expect(streams).toBe(20);
    expect(edits).toBeGreaterThan(1);
    expect(answers).toEqual(["The answer."]);
  });
});

const first = sampleAsk();

const second = {
  ...sampleAsk({
    ts: `${askedAtMs / 1000 + 1}.000100`,
    threadTs: first.message.ts,
    text: "And who kept it?",
  }),
  requestId: "00000000-0000-5000-8000-000000000002",
};

const options = [{ id: "yes", label: "Yes" }];
type World = ReturnType<typeof createWorld>;
const textOf = (requestId: string) =>
  requestId === first.requestId ? "The first answer." : "The second answer.";
const texts = (world: World) => world.posts.map(({ text }) => text);
const recordOf = (world: World, { requestId }: typeof first) => world.records.get(requestId);

/** Agents that write for long, in a thread; the worker of the first one dies when it writes on. */
function writingWorld(more: Parameters<typeof createWorld>[0] = {}): World {
  let appends = 0;
  return createWorld({
    ...{ slack: { streaming: true }, policy: { deadlineMs: 3600_000 }, pollsUntilDone: 300 },
    progress: (polls) => ({ partial_text: "word ".repeat(polls + 1) }),
    story: (requestId) => ({ status: "success", response_text: textOf(requestId) }),
    fault: ({ name }): MaybeFault => name === "appendStream" && appends++ === 0 && "dies_after",
    ...more,
  });
}

describe("a task that may have begun a stream unknown to us", () => {
  it("leaves the stream of another task in the thread unchanged", async () => {
    const world = writingWorld({ policy: { concurrency: "parallel", deadlineMs: 3600_000 } });
    await world
      .deliver(first)
      .run({ until: () => (recordOf(world, first)?.wait?.polls ?? 0) > 80 });
    await world.deliver(second).run({ until: () => recordOf(world, first)?.state === "done" });
    const [stream] = recordOf(world, second)?.stream?.messages ?? [];
    expect(world.posts.find(({ ts }) => ts === stream?.ts)?.text).toMatch(/^word /);
    await world.run();
    expect(texts(world).sort()).toEqual(["The first answer.", "The second answer."]);
  });

  it("leaves the stream of a follow-up unchanged in its cleanup two minutes later", async () => {
    const world = writingWorld();
    await world.deliver(first).run({ until: () => recordOf(world, first)?.state === "done" });
    await world.deliver(second).run({ until: () => recordOf(world, first)?.cleanupDone === true });
    expect(recordOf(world, second)?.state).toBe("waiting");
    const [stream] = recordOf(world, second)?.stream?.messages ?? [];
    expect(world.posts.find(({ ts }) => ts === stream?.ts)?.text).toMatch(/^word /);
    await world.run();
    expect(texts(world)).toEqual(["The first answer.", "The second answer."]);
  });
});

describe("a stream that a worker died of beginning", () => {
  it("removes a stream of a dead worker even if other tasks of the thread wait or are answered", async () => {
    for (const nth of [0, 1]) {
      let starts = 0;
      const world = writingWorld({
        pollsUntilDone: 6,
        fault: ({ name }): MaybeFault => name === "startStream" && starts++ === nth && "dies_after",
      });
      await world.deliver(first).run({ until: () => recordOf(world, first)?.state === "waiting" });
      await world.deliver(second).run();
      expect({ nth, texts: texts(world) }).toEqual({
        nth,
        texts: ["The first answer.", "The second answer."],
      });
    }
  });
});

describe("an agent that writes, asks, and writes on", () => {
  const turns = [
    "First I look at it.",
    "Thank you. The answer is forty-two, and here is why.",
  ] as const;

  async function askingWorld({ openMs, writesOn }: { openMs: number; writesOn: boolean }) {
    let turn: 0 | 1 = 0;
    const world = createWorld({
      slack: { streaming: true },
      policy: { deadlineMs: 3600_000, questionMs: 8 * 3600_000 },
      pollsUntilDone: 4,
      questions: [{ prompt: "Shall I?", options }],
      progress: (polls) =>
        turn === 0 || writesOn
          ? { partial_text: turns[turn].slice(0, 15 * (polls + 1)) }
          : undefined,
      story: () => ({ status: "success", response_text: "It is forty-two." }),
    });
    await world
      .deliver(first)
      .run({ until: () => recordOf(world, first)?.question?.ts !== undefined });
    turn = 1;
    world.pass(openMs);
    const button = { type: "answer", question: 0, option: 0 } as const;
    world.clickButton(sampleClick(button, { atMs: world.now() }));
    return world;
  }

  it("streams the text after a question in a new message below it", async () => {
    const world = await askingWorld({ openMs: 1000, writesOn: true });
    await world.run({ until: () => (recordOf(world, first)?.stream?.messages.length ?? 0) > 1 });
    const [firstStream, secondStream] = recordOf(world, first)?.stream?.messages ?? [];
    const at = (ts: string | undefined) => world.posts.find((post) => post.ts === ts);
    expect(at(firstStream?.ts)).toMatchObject({ text: turns[0], streams: false });
    expect(turns[1].startsWith(at(secondStream?.ts)?.text ?? "?")).toBe(true);
    const order = world.posts.map(({ ts, text }) =>
      text.startsWith("Shall I?") ? "question" : ts,
    );
    expect(order.indexOf("question")).toBeLessThan(order.indexOf(secondStream?.ts ?? ""));
  });

  it("posts the answer below the question and leaves nothing else", async () => {
    for (const writesOn of [true, false]) {
      for (const openMs of [1000, 2 * 3600_000]) {
        const world = await askingWorld({ openMs, writesOn });
        await world.run();
        expect(texts(world)).toEqual(["Shall I? U1: 0", "It is forty-two."]);
      }
    }
  });
});
