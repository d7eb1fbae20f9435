/** What of an agent is reported to its author, and what is none of its mistakes. */
import { expect, it } from "@jest/globals";
import { type Agent, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { reportAgent } from "@sekisho/local/author/report-agent.ts";
import { agentContext, agentTask } from "../../execution/agents/agent-context.ts";

/** The agent as the host runs it, to its last update or its error. */
async function run(agent: Agent, signal = new AbortController().signal) {
  const shownTexts: string[] = [];
  const updates: TaskUpdate[] = [];
  const reported = reportAgent({ agent, show: (text) => shownTexts.push(text) });
  const args = [agentTask({ channel: "C1", text: "hello" }), agentContext(signal)] as const;
  const end = (async () => {
    for await (const update of runAgent(reported, ...args)) updates.push(update);
  })();
  const error = await end.then(
    () => undefined,
    (error: unknown) => error,
  );
  return { shown: shownTexts.join(""), updates, error, reported };
}

const late = new Error("too late");
const throwing: Agent = async function* () {
  yield { type: "progress", text: "so far" };
  throw late;
};

it("passes each update and the error on unchanged", async () => {
  const { updates, error, shown: shownText } = await run(throwing);
  expect({ updates, error }).toEqual({
    updates: [{ type: "progress", text: "so far" }],
    error: late,
  });
  expect(shownText).toContain("Error: too late");
});

it("shows nothing for an agent that was aborted", async () => {
  expect(await run(throwing, AbortSignal.abort())).toMatchObject({ shown: "", error: late });
  const endless: Agent = async function* () {};
  expect((await run(endless, AbortSignal.abort())).shown).toBe("");
});

it.each<[string, TaskUpdate[]]>([
  ["a question", [{ type: "question", prompt: "Go?" }]],
  ["a failure", [{ type: "failure", reason: "plan_error" }]],
  [
    "a blank answer beside a file",
    [
      { type: "artifact", artifact: { name: "a.txt", mimetype: "text/plain", text: "a" } },
      { type: "answer", text: "" },
    ],
  ],
])("shows nothing for %s", async (_what, updates) => {
  const agent: Agent = async function* () {
    yield* updates;
  };
  expect((await run(agent)).shown).toBe("");
});

it("shows only the wrong update when the agent then ends without an answer", async () => {
  const wrong: Agent = async function* () {
    yield { type: "answer", text: 7 } as unknown as TaskUpdate;
  };
  const { shown: shownText } = await run(wrong);
  expect(shownText).toContain("`text` must be a string");
  expect(shownText).not.toContain("without an answer");
});

it("shows the part of the progress that is left out, and then the missing answer", async () => {
  const wrong: Agent = async function* () {
    yield { type: "progress", percent: "half" } as unknown as TaskUpdate;
  };
  const { shown: shownText } = await run(wrong);
  expect(shownText).toMatch(
    /part of the progress was left out in request .*:\n.*`percent` must be a number/,
  );
  expect(shownText).toContain("without an answer");
});

it("reports an agent that fails after its answer", async () => {
  const closing: Agent = async function* () {
    try {
      yield { type: "answer", text: "done" };
    } finally {
      await Promise.reject(new Error("closed twice"));
    }
  };
  const reported: string[] = [];
  const updates = reportAgent({ agent: closing, show: (text) => reported.push(text) })(
    agentTask({ channel: "C1", text: "hello" }),
    agentContext(),
  );
  const iterator = (updates as AsyncIterable<TaskUpdate>)[Symbol.asyncIterator]();
  await iterator.next();
  await expect(iterator.return?.()).rejects.toThrow("closed twice");
  expect(reported.join("")).toMatch(/failed after its last update in request .*:\n.*closed twice/);
});

it("keeps the feedback function of the agent and reports its errors", async () => {
  const shownTexts: string[] = [];
  const agent: Agent = Object.assign(async () => "hello", {
    feedback: async () => {
      throw new Error("the store is full");
    },
  });
  const { feedback } = reportAgent({ agent, show: (text) => shownTexts.push(text) });
  const vote = { vote: "up", voterId: "v", requestId: "r", taskId: "t", caller: "c" } as const;
  await expect(feedback?.(vote)).rejects.toThrow("the store is full");
  expect(shownTexts.join("")).toMatch(/function feedback failed:\n.*the store is full/);
});
