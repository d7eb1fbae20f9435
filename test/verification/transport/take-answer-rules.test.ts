/** The rules of a question as they come from a peer, over the zone contract and over A2A. */
import { describe, expect, it } from "@jest/globals";
import { hitlKey, questionKey } from "@sekisho/contracts/a2a/extension.ts";
import { readTaskSchema } from "@sekisho/contracts/a2a/read-task.ts";
import { taskResultSchema } from "@sekisho/contracts/methods.ts";
import { toZoneResult } from "@sekisho/verification/transport/a2a/task-result.ts";
import { takeResult } from "@sekisho/verification/transport/take-result.ts";

const url = "https://sign-in.example/start";
const options = [{ id: "y", label: "Yes" }];
const overContract = (members: object) =>
  taskResultSchema.parse(
    takeResult({ status: "input_required", task_id: "t", prompt: "Shall I?", options, ...members }),
  );

function overA2a({ kind, ...members }: { kind?: string; [name: string]: unknown }) {
  const state = kind === "auth" ? "TASK_STATE_AUTH_REQUIRED" : "TASK_STATE_INPUT_REQUIRED";
  const metadata = { [questionKey]: { options, ...members } };
  const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "Shall I?" }], metadata };
  const task = readTaskSchema.parse({ id: "t", status: { state, message } });
  return toZoneResult({ result: { task }, retryAfterMs: undefined });
}

describe.each([
  ["the zone contract", overContract],
  ["A2A", overA2a],
])("rules of a question over %s", (_name, read) => {
  it.each([
    { kind: "auth", url },
    { answerers: "not-asker", approvals: 2 },
    { answerers: { group: "S012AB3CD" } },
  ])("keeps %j", (rules) => {
    const question = read(rules);
    expect(question).toMatchObject({ status: "input_required", prompt: "Shall I?", ...rules });
    expect(question).not.toHaveProperty("unanswerable");
  });

  it.each([
    { kind: "auth", url: "javascript:alert(1)" },
    { kind: "auth", url: "https://user:hunter2@sign-in.example/" },
    { kind: "auth", url: 7 },
    { answerers: "admins" },
    { answerers: { group: "S1", except: "U1" } },
    { answerers: { group: 1 } },
    { answerers: ["asker"] },
    { answerers: true },
    { approvals: 0 },
    { approvals: 1.5 },
    { approvals: 1e9 },
    { approvals: "2" },
    { approvals: -1 },
  ])("marks a question as one that nobody may answer: %j", (rules) => {
    const question = read(rules);
    expect(question).toMatchObject({ status: "input_required", unanswerable: true });
    for (const name of ["url", "answerers", "approvals"]) expect(question).not.toHaveProperty(name);
  });

  it("leaves out the link of a question of another kind, whatever it is", () => {
    for (const link of [url, "javascript:alert(1)", {}]) {
      const question = read({ url: link });
      expect(question).not.toHaveProperty("url");
      expect(question).not.toHaveProperty("unanswerable");
    }
  });

  it("reads empty members as absent", () => {
    const question = read({ kind: "auth", url: "", answerers: null, approvals: null });
    for (const name of ["url", "answerers", "approvals", "unanswerable"])
      expect(question).not.toHaveProperty(name);
  });

  it("writes the link as a browser reads it", () => {
    expect(read({ kind: "auth", url: "https://A.EXAMPLE/x/../b" })).toMatchObject({
      url: "https://a.example/b",
    });
  });

  it("drops a mark of the peer's own", () => {
    expect(read({ unanswerable: true })).not.toHaveProperty("unanswerable");
  });
});

it("keeps the rules of a question in the structure of kagent", () => {
  const request = {
    type: "ask_user_request",
    id: "a",
    questions: [{ question: "Deploy?", choices: ["yes"] }],
  };
  const read = (rules: object) => {
    const metadata = { [hitlKey]: request, [questionKey]: rules };
    const parts = [{ text: "Deploy?" }];
    const message = { messageId: "m", role: "ROLE_AGENT", parts, extensions: [hitlKey], metadata };
    const status = { state: "TASK_STATE_INPUT_REQUIRED", message };
    const task = readTaskSchema.parse({ id: "t", status });
    return toZoneResult({ result: { task }, retryAfterMs: undefined });
  };
  const rules = { answerers: "not-asker", approvals: 2 };
  expect(read(rules)).toMatchObject({ options: [{ label: "yes" }], ...rules });
  expect(read({ answerers: "admins" })).toMatchObject({ unanswerable: true });
});
