import { describe, expect, it } from "@jest/globals";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createMetadata } from "@sekisho/verification/slack/api/post-keys.ts";
import { type AskedTask, answerTo, textOf } from "./asker.ts";
import { type AgentEvent, memoryProblems, problemsOf } from "./load-result.ts";

/** Two tasks of one thread, and one of another. */
const askedTasks: AskedTask[] = [
  { number: 0, quick: false, requestId: "r0", ts: "1.0", threadTs: "1.0" },
  { number: 1, quick: false, requestId: "r1", ts: "2.0", threadTs: "1.0" },
  { number: 2, quick: true, requestId: "r2", ts: "3.0", threadTs: "3.0" },
];

function post(
  { number, requestId, threadTs }: AskedTask,
  changes: Partial<FakeSlackMessage> = {},
): FakeSlackMessage {
  return {
    channel: workspace.channel.id,
    ts: `9.${number}`,
    threadTs,
    user: workspace.botUser,
    text: answerTo(textOf({ number, quick: number === 2 })),
    metadata: createMetadata({ requestId, kind: "answer", index: 0 }),
    edited: true,
    reactions: [],
    ...changes,
  };
}

const runOf = (requestId: string): AgentEvent[] => [
  { type: "started", requestId },
  { type: "ended", requestId },
];
const [first, second, other] = askedTasks as [AskedTask, AskedTask, AskedTask];
const answers = askedTasks.map((task) => post(task));
const runs = [...runOf("r2"), ...runOf("r0"), ...runOf("r1")];

describe("the check of a load run", () => {
  it("reports nothing for a correct run", () => {
    expect(problemsOf({ asked: askedTasks, messages: answers, agentEvents: runs })).toEqual([]);
  });

  it.each<[string, FakeSlackMessage[]]>([
    ["a missing answer", answers.slice(1)],
    ["a repeated answer", [...answers, post(first)]],
    [
      "a remaining placeholder",
      [
        ...answers,
        post(first, {
          metadata: createMetadata({ requestId: "r0", kind: "placeholder", index: 0 }),
        }),
      ],
    ],
    ["an answer in another thread", [post(first, { threadTs: "3.0" }), ...answers.slice(1)]],
    [
      "a text that is not the agent's",
      [post(first, { text: "The task may have run." }), ...answers.slice(1)],
    ],
    ["a post of an unknown task", [...answers, post({ ...first, requestId: "r9" })]],
  ])("reports %s in the threads", (_what, messages) => {
    expect(problemsOf({ asked: askedTasks, messages, agentEvents: runs })).toHaveLength(1);
  });

  it.each<[string, AgentEvent[]]>([
    ["an agent that was started twice", [...runs, ...runOf(other.requestId)]],
    ["an agent that was never started", runs.slice(2)],
    ["tasks of one thread in another order", [...runOf("r1"), ...runOf("r0"), ...runOf("r2")]],
    [
      "tasks of one thread at the same time",
      [
        { type: "started", requestId: first.requestId },
        { type: "started", requestId: second.requestId },
        { type: "ended", requestId: first.requestId },
        { type: "ended", requestId: second.requestId },
        ...runOf("r2"),
      ],
    ],
  ])("reports %s in the agents' events", (_what, agentEvents) => {
    expect(problemsOf({ asked: askedTasks, messages: answers, agentEvents })).toHaveLength(1);
  });
});

const steady = { heapBytes: 30e6, rssBytes: 200e6 };
const sample = (verification: typeof steady, execution = steady) => ({
  answered: 1,
  atMs: 0,
  verification,
  execution,
});

describe("the memory of a load run", () => {
  it("accepts memory that goes up and down", () => {
    expect(
      memoryProblems([sample(steady), sample({ ...steady, heapBytes: 44e6 }), sample(steady)]),
    ).toEqual([]);
  });

  it("reports memory that a zone keeps for each task", () => {
    const leaking = { heapBytes: 46e6, rssBytes: 401e6 };
    expect(memoryProblems([sample(steady), sample(steady), sample(leaking)])).toHaveLength(2);
    expect(memoryProblems([sample(steady), sample(steady), sample(steady, leaking)])).toHaveLength(
      2,
    );
  });
});
