/** Tasks and messages as a client reads them: what it skips, and what it refuses. */
import { describe, expect, it } from "@jest/globals";
import { hasTooManyEntries, readAnswerSchema } from "@sekisho/contracts/a2a/read-task.ts";
import fc from "fast-check";
import { issuesOf, sendResult, spoil, wire } from "./arbitraries.ts";

const nestedList: unknown = JSON.parse("[".repeat(5000) + "]".repeat(5000));
const bare = { id: "t1", status: { state: "TASK_STATE_COMPLETED" } };
const says = (...parts: unknown[]) => ({ messageId: "m1", role: "ROLE_AGENT", parts });
const answer = { artifactId: "a1", name: "report", parts: [{ text: "the answer" }] };
const result = {
  ...bare,
  artifacts: [answer],
  history: [],
};

function taskOf(members: object): unknown {
  return wire(readAnswerSchema.parse({ task: { ...bare, artifacts: [answer], ...members } }));
}

describe("a valid response", () => {
  it.each<[string, object]>([
    [
      "a message of its history without parts",
      { history: [{ messageId: "m1", role: "ROLE_GUEST" }] },
    ],
    ["a malformed history", { history: "long" }],
    ["a malformed message in its history", { history: [null, 7, []] }],
    ["a malformed status message", { status: { ...bare.status, message: "done" } }],
    [
      "a status message with broken parts",
      { status: { ...bare.status, message: says({ text: 7 }) } },
    ],
    ["an invalid timestamp", { status: { ...bare.status, timestamp: 7 } }],
    ["an invalid context id", { contextId: 7 }],
    ["metadata that is a list", { metadata: [1] }],
    ["metadata nested without end", { metadata: { nested: nestedList } }],
    ["lists that are null", { history: null, metadata: null }],
  ])("reads a task despite %s", (_name, members) => {
    const { task } = taskOf(members) as { task: typeof result };
    const history = task.history.filter(
      (message: { parts: unknown[] }) => message.parts.length > 0,
    );
    expect({ ...task, history }).toEqual(result);
  });

  it.each<[string, unknown]>([
    ["without content", {}],
    ["of an unknown kind", { hologram: "x" }],
    ["with an address that is too long", { url: `data:image/png;base64,${"A".repeat(5000)}` }],
    ["with two contents", { url: "u", data: 1 }],
    ["with data nested without end", { data: nestedList }],
    ["that is not an object", null],
  ])("skips a part %s, and reads the others", (_name, part) => {
    const artifacts = [{ ...answer, parts: [part, ...answer.parts] }];
    expect(taskOf({ artifacts })).toEqual({ task: result });
    expect(wire(readAnswerSchema.parse({ message: says(part, { text: "a" }) }))).toEqual({
      message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "a" }] },
    });
  });

  it.each<[string, object]>([
    ["without parts", { parts: [] }],
    ["without an id or parts", { artifactId: "", parts: null }],
  ])("reads an artifact %s as empty", (_name, artifact) => {
    expect(taskOf({ artifacts: [answer, artifact] })).toEqual({
      task: { ...result, artifacts: [...result.artifacts, { parts: [] }] },
    });
  });

  it("reads a text despite malformed members beside it", () => {
    const odd = { text: "the answer", mediaType: 7, filename: "x".repeat(300), metadata: [] };
    expect(taskOf({ artifacts: [{ ...answer, parts: [odd] }] })).toEqual({ task: result });
  });

  it("reads the text of a status message despite its malformed members", () => {
    const message = {
      role: "ROLE_GUEST",
      parts: [{ text: "Which?" }, {}],
      messageId: "",
      metadata: 7,
    };
    expect(taskOf({ status: { state: "TASK_STATE_INPUT_REQUIRED", message } })).toMatchObject({
      task: { status: { message: { parts: [{ text: "Which?" }] } } },
    });
  });

  it("reads an answer of 0.3 as leniently as one of 1.0", () => {
    const parts = [
      { kind: "file", file: { uri: "u", mimeType: 7, name: "x".repeat(300) }, metadata: [] },
      { kind: "file", file: { bytes: "a b" } },
      { kind: "data", data: { nested: nestedList } },
      { kind: "hologram" },
      { kind: "text", text: "the answer", metadata: 7 },
    ];
    const task = {
      ...{
        kind: "task",
        id: "t1",
        status: { state: "completed", message: { role: "agent", parts: [] } },
      },
      ...{
        artifacts: [{ parts }],
        history: [{ role: "tool" }, 7, { role: "agent", parts: [{ kind: "text", text: "a" }] }],
      },
    };
    expect(wire(readAnswerSchema.parse(task))).toEqual({
      task: {
        ...{
          id: "t1",
          status: { state: "TASK_STATE_COMPLETED", message: { role: "ROLE_AGENT", parts: [] } },
        },
        artifacts: [{ parts: [{ url: "u" }, { raw: "a b" }, { text: "the answer" }] }],
        history: [{ parts: [] }, { role: "ROLE_AGENT", parts: [{ text: "a" }] }],
      },
    });
  });
});

it.each([
  [9_999, false],
  [10_000, true],
])("counts the entries of an answer with %i parts as too many: %s", (count, isTooMany) => {
  const parts = Array.from({ length: count }, () => ({ text: "a" }));
  expect(hasTooManyEntries({ task: { artifacts: [{ parts }] } })).toBe(isTooMany);
});

describe("an invalid response", () => {
  it.each<[string, unknown]>([
    ["without an id", { id: undefined }],
    ["with an id of 257 characters", { id: "x".repeat(257) }],
    ["in an unknown state", { status: { state: "TASK_STATE_PAUSED" } }],
    ["with a text that is a number", { artifacts: [{ parts: [{ text: 7 }] }] }],
    [
      "with a part that holds a text and an address",
      { artifacts: [{ parts: [{ text: "a", url: "u" }] }] },
    ],
    ["with malformed artifacts", { artifacts: "a" }],
    ["with a malformed artifact", { artifacts: ["a"] }],
  ])("refuses a task %s", (_name, members) => {
    expect(
      issuesOf(readAnswerSchema.safeParse({ task: { ...bare, ...(members as object) } })),
    ).not.toEqual([]);
  });

  it.each([{ parts: [] }, { parts: [{}] }, { parts: [{ text: 7 }] }, {}, null])(
    "refuses a message without readable content: %j",
    (message) => {
      expect(readAnswerSchema.safeParse({ message }).success).toBe(false);
      expect(readAnswerSchema.safeParse({ kind: "message", ...message }).success).toBe(false);
    },
  );

  it.each([{ kind: "text", text: 7 }, { root: { text: 7 } }, { file: { uri: "u" }, text: "a" }])(
    "refuses a task of 0.3 with an unreadable text: %j",
    (part) => {
      const task = {
        kind: "task",
        id: "t1",
        status: { state: "completed" },
        artifacts: [{ parts: [part] }],
      };
      expect(readAnswerSchema.safeParse(task).success).toBe(false);
    },
  );

  it.each<[string, unknown, string]>([
    [
      "a bare task",
      { ...bare, artifacts: [{ parts: [{}, { text: 7 }] }] },
      "artifacts.0.parts.1.text",
    ],
    ["a task", { task: { ...bare, status: { state: "paused" } } }, "task.status.state"],
    ["a task without an id", { kind: "task", status: { state: "completed" } }, "id"],
    ["a message", { message: says({}) }, "message.parts"],
    ["an update", { kind: "status-update", status: { state: "completed" } }, "taskId"],
    ["something else", { status: "success" }, ""],
  ])("names the invalid member of %s", (_name, answerJson, path) => {
    expect(issuesOf(readAnswerSchema.safeParse(answerJson)).map((issue) => issue.path)).toEqual([
      path,
    ]);
  });

  it("reads or refuses any answer, and reads its own output unchanged", () => {
    fc.assert(
      fc.property(spoil(sendResult), (answerJson) => {
        const { data, success } = readAnswerSchema.safeParse(answerJson);
        if (success) expect(wire(readAnswerSchema.parse(wire(data)))).toEqual(wire(data));
      }),
      { numRuns: 100 },
    );
  });
});
