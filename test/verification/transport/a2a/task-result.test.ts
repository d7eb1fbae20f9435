import { describe, expect, it } from "@jest/globals";
import { messageSchema } from "@sekisho/contracts/a2a/part.ts";
import { readTaskSchema } from "@sekisho/contracts/a2a/read-task.ts";
import { a2aTaskSchema, type SendResult } from "@sekisho/contracts/a2a/task.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import { decodeError, encodeError } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { methods } from "@sekisho/contracts/methods.ts";
import { readResult } from "@sekisho/verification/transport/a2a/post-operation.ts";
import { toZoneResult } from "@sekisho/verification/transport/a2a/task-result.ts";

const says = (text: string, more: object = {}) => ({
  messageId: "m1",
  role: "ROLE_AGENT",
  parts: [{ text }],
  ...more,
});
const asks = (text: string) => ({ ...says(text), role: "ROLE_USER" });
const artifact = (...parts: object[]) => ({ artifactId: "a1", parts });

/** What comes of a task, the same in both versions of the wire. */
function outcomeOf(
  state: string,
  { message, ...more }: { message?: object; [member: string]: unknown } = {},
) {
  const task = a2aTaskSchema.parse({
    ...{ id: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}`, message } },
    ...more,
  });
  return bothVersions({ task });
}

function bothVersions(result: SendResult) {
  const [outcome, old] = (["1.0", "0.3"] as const).map((version) => {
    const wire = version === "1.0" ? result : resultToV03({ operation: "SendMessage", result });
    const wireResult = readResult({
      operation: "SendMessage",
      result: JSON.parse(JSON.stringify(wire)),
    });
    return toZoneResult({ result: wireResult, retryAfterMs: undefined });
  });
  expect(old).toEqual(outcome);
  if (!(outcome instanceof SekishoError))
    expect(methods.execute_task.result.parse(outcome)).toEqual(outcome);
  return outcome;
}

const notes = (of: object) => ({ metadata: { "urn:sekisho:task:v1": of } });

describe("the result of an A2A task", () => {
  it("returns the text of the artifacts once, even if the status repeats it", () => {
    const artifacts = [artifact({ text: "one" }, { text: "two" }), artifact({ text: "three" })];
    const outcome = outcomeOf("COMPLETED", {
      message: says("onetwo\n\nthree"),
      artifacts,
      history: [says("one")],
    });
    expect(outcome).toEqual({ status: "success", response_text: "onetwo\n\nthree" });
  });

  it("falls back to the text of the status and then to the agent's last message", () => {
    const history = [asks("hello"), says("let me see"), says("done"), asks("thanks")];
    const artifacts = [artifact({ url: "https://files.example/a" })];
    expect(
      outcomeOf("COMPLETED", { message: says("see the file"), artifacts, history }),
    ).toMatchObject({
      response_text: "see the file",
    });
    expect(outcomeOf("COMPLETED", { history })).toMatchObject({ response_text: "done" });
    expect(outcomeOf("COMPLETED")).toEqual({ status: "success", response_text: "" });
  });

  it("returns files and data as artifacts, named by themselves or by their artifact", () => {
    const artifacts = [
      {
        ...artifact(
          { text: "here" },
          { url: "https://files.example/a.pdf", mediaType: "application/pdf", filename: "a.pdf" },
          { raw: "aGk=", mediaType: "text/plain" },
          { data: { answer: 42 } },
        ),
        name: "report",
      },
    ];
    expect(outcomeOf("COMPLETED", { artifacts })).toEqual({
      status: "success",
      response_text: "here",
      artifacts: [
        { name: "a.pdf", mimetype: "application/pdf", url: "https://files.example/a.pdf" },
        { name: "report", mimetype: "text/plain", base64: "aGk=" },
        { name: "report", data: { answer: 42 } },
      ],
    });
  });

  it("returns a text with a file name as a file and every other text as the answer", () => {
    const table = { text: "a,b", mediaType: "text/csv", filename: "table.csv" };
    const readParts = (parts: object[], more = {}) => {
      const task = a2aTaskSchema.parse({
        ...{ id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED", ...more } },
        artifacts: [{ ...artifact(...parts), name: "report" }],
      });
      return toZoneResult({
        result: { task: readTaskSchema.parse(task) },
        retryAfterMs: undefined,
      });
    };
    const artifacts = [{ name: "table.csv", mimetype: "text/csv", text: "a,b" }];
    expect(readParts([{ text: "here" }, table])).toEqual({
      status: "success",
      response_text: "here",
      artifacts,
    });
    expect(readParts([table], { message: says("see the table") })).toMatchObject({
      response_text: "see the table",
      artifacts,
    });
    expect(readParts([table])).toMatchObject({ response_text: "", artifacts });
  });

  it.each([
    ["null", { raw: null, url: null, data: null }],
    ["empty", { raw: "", url: "" }],
  ])("reads a part as text if its other contents are %s", (_what, unsetMembers) => {
    const message = {
      messageId: "m1",
      role: "ROLE_AGENT",
      parts: [{ text: "here", ...unsetMembers }],
    };
    const result = readResult({ operation: "SendMessage", result: { message } });
    expect(toZoneResult({ result, retryAfterMs: undefined })).toEqual({
      status: "success",
      response_text: "here",
    });
  });

  it("joins base64 of several lines and passes on broken base64 to be counted", () => {
    const parts = [
      { text: "here" },
      { raw: "YWJj\r\nZA==\n", filename: "a" },
      { raw: "%%%", filename: "b" },
    ];
    const message = { messageId: "m1", role: "ROLE_AGENT", parts };
    const result = readResult({ operation: "SendMessage", result: { message } });
    expect(toZoneResult({ result, retryAfterMs: undefined })).toMatchObject({
      artifacts: [
        { name: "a", base64: "YWJjZA==" },
        { name: "b", base64: "%%%" },
      ],
    });
  });

  it("cuts names to the length that the contract allows", () => {
    const artifacts = [{ ...artifact({ raw: "aGk=" }), name: "n".repeat(1000) }];
    expect(outcomeOf("COMPLETED", { artifacts })).toMatchObject({
      artifacts: [{ name: "n".repeat(255) }],
    });
  });

  it.each(["SUBMITTED", "WORKING"])(
    "returns accepted with its progress for a task that is %s",
    (state) => {
      expect(outcomeOf(state)).toEqual({ status: "accepted", task_id: "t1" });
      expect(
        outcomeOf(state, {
          message: says("reading"),
          ...notes({ poll_after_ms: 700, percent: 40 }),
        }),
      ).toEqual({
        ...{ status: "accepted", task_id: "t1", poll_after_ms: 700 },
        progress: { text: "reading", percent: 40 },
      });
      const steps = [{ id: "a", title: "Read", status: "pending" }];
      expect(outcomeOf(state, notes({ steps }))).toMatchObject({ progress: { steps } });
      expect(outcomeOf(state, notes({ steps: [{ id: "a" }] }))).not.toHaveProperty("progress");
    },
  );

  it("returns the texts of a working task's artifacts as the partial answer", () => {
    const partialOf = (...texts: string[][]) => {
      const artifacts = texts.map((parts, index) => ({
        artifactId: `a${index}`,
        parts: parts.map((text) => ({ text })),
      }));
      const { progress } = Object(outcomeOf("WORKING", { message: says("reading"), artifacts }));
      expect(progress).toMatchObject({ text: "reading" });
      return progress.partial_text;
    };
    expect(partialOf(["Hel", "lo", ""], ["you"])).toBe("Hello\n\nyou");
    expect(partialOf([""], ["  "])).toBeUndefined();
    expect(partialOf(["a".repeat(11_999), "🦊"])).toBe("a".repeat(11_999));
    expect(partialOf(["a".repeat(13_000)], ["b"])).toHaveLength(12_000);
  });

  it("returns an answer once that a last artifact repeats, also while it does so", () => {
    const artifacts = (...texts: string[]) =>
      texts.map((text, index) => ({ artifactId: `a${index}`, parts: [{ text }] }));
    const partialOf = (...texts: string[]) =>
      Object(outcomeOf("WORKING", { artifacts: artifacts(...texts) })).progress.partial_text;
    expect(partialOf("Hello", "Hel")).toBe("Hello");
    expect(partialOf("Hello", "Hello")).toBe("Hello");
    expect(partialOf("Hello", "Helm")).toBe("Hello\n\nHelm");
    const answerOf = (...texts: string[]) =>
      Object(outcomeOf("COMPLETED", { artifacts: artifacts(...texts) })).response_text;
    expect(answerOf("Hel", "lo\nyou", "Hello\n\nyou")).toBe("Hello\n\nyou");
    expect(answerOf("Hello", "Hel")).toBe("Hello\n\nHel");
  });

  it("returns a question with the options that the agent offers", () => {
    const options = [{ id: "y", label: "Yes", style: "primary" }];
    const metadata = { "urn:sekisho:question:v1": { options } };
    expect(outcomeOf("INPUT_REQUIRED", { message: says("Deploy?", { metadata }) })).toEqual({
      ...{ status: "input_required", task_id: "t1", prompt: "Deploy?", options, question_id: "m1" },
    });
    expect(outcomeOf("INPUT_REQUIRED", { history: [says("Which one?"), asks("?")] })).toEqual({
      ...{ status: "input_required", task_id: "t1", prompt: "Which one?" },
    });
  });

  it("returns a question with the valid fields of its data part", () => {
    const fields = [{ id: "a", label: "A", type: "text" }];
    const outcomeWith = (data: unknown) =>
      outcomeOf("INPUT_REQUIRED", {
        message: says("Where?", { parts: [{ text: "Where?" }, { data }] }),
      });
    expect(outcomeWith({ fields })).toMatchObject({
      status: "input_required",
      prompt: "Where?",
      fields,
    });
    for (const brokenPart of [{ fields: [{ id: "a" }] }, { fields: "all" }, null, [fields]]) {
      expect(outcomeWith(brokenPart)).not.toHaveProperty("fields");
    }
  });

  it("derives the question id from the id of the asking message, however long it is", () => {
    const idOf = (messageId: string) =>
      outcomeOf("INPUT_REQUIRED", { message: says("Deploy?", { messageId }) });
    const ids = ["q", "q".repeat(128), "q".repeat(129), `${"q".repeat(129)}r`].map(
      (id) => Object(idOf(id)).question_id,
    );
    expect(ids.slice(0, 2)).toEqual(["q", "q".repeat(128)]);
    expect(new Set(ids).size).toBe(4);
    expect(ids[2]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("returns a question for credentials if the agent requires them", () => {
    expect(
      outcomeOf("AUTH_REQUIRED", { message: says("Log in at https://login.example") }),
    ).toEqual({
      ...{
        status: "input_required",
        task_id: "t1",
        kind: "auth",
        prompt: "Log in at https://login.example",
      },
      question_id: "m1",
    });
  });

  it.each([
    ["FAILED", {}, "execution_failed", { task_id: "t1" }],
    ["FAILED", notes({ reason: "timeout" }), "timeout", { task_id: "t1" }],
    ["FAILED", notes({ lost: true }), "execution_failed", { task_id: "t1", lost: true }],
    ["REJECTED", notes({ reason: "timeout" }), "plan_error", { task_id: "t1" }],
    ["CANCELED", notes({ lost: true }), "canceled", { task_id: "t1" }],
  ] as const)(
    "returns an error for a task that is %s (%j), which decodes to the same error",
    (state, more, reason, details) => {
      const error = outcomeOf(state, { message: says("a trace of the stack"), ...more });
      expect(error).toBeInstanceOf(SekishoError);
      const object = encodeError({ error: SekishoError.from(error), dialect: "zone" });
      const decodedError = decodeError({ error: object, dialect: "a2a" });
      expect(decodedError).toMatchObject({ reason, certainty: "refused" });
      expect(decodedError.details).toEqual(details);
      expect(JSON.stringify(object)).not.toContain("stack");
    },
  );

  it("explains a failure in the agent's words, except for the fixed texts of a Sekisho host", () => {
    const explanationOf = (state: string, text: string) =>
      Object(outcomeOf(state, { message: says(text) })).explanation;
    expect(explanationOf("REJECTED", "Mondays only.")).toBe("Mondays only.");
    expect(explanationOf("FAILED", new SekishoError("timeout").message)).toBeUndefined();
    expect(Object(outcomeOf("FAILED", { history: [says("half done")] })).explanation).toBe("");
  });

  it.each(["unavailable", "rate_limited", "unauthenticated", "task_not_found", "ambiguous", 7])(
    "never makes a failure retryable, although the agent calls it %s",
    (reason) => {
      expect(outcomeOf("FAILED", notes({ reason }))).toMatchObject({
        reason: "execution_failed",
        certainty: "refused",
      });
    },
  );

  it.each([7, "text", null, [], { poll_after_ms: "soon", percent: 400, lost: "no" }])(
    "ignores malformed notes: %j",
    (malformed) => {
      const metadata = { "urn:sekisho:task:v1": malformed, "urn:sekisho:question:v1": malformed };
      expect(outcomeOf("WORKING", { metadata })).toEqual({ status: "accepted", task_id: "t1" });
      expect(outcomeOf("FAILED", { metadata })).toMatchObject({
        reason: "execution_failed",
        details: { task_id: "t1" },
      });
      expect(outcomeOf("INPUT_REQUIRED", { message: says("Deploy?", { metadata }) })).toEqual({
        ...{ status: "input_required", task_id: "t1", prompt: "Deploy?", question_id: "m1" },
      });
    },
  );
});

const call = (name: string, args: object, more: object = {}) => ({
  data: { id: "call-1", name, args },
  metadata: { adk_type: "function_call", ...more },
});
const toolResponse = (response: object) => ({
  data: { id: "call-1", name: "look_up", response },
  metadata: { adk_type: "function_response" },
});
const waits = { adk_is_long_running: true };

describe("an agent of Google's Agent Development Kit", () => {
  it("hides the thoughts and tool calls of an ADK agent", () => {
    const artifacts = [
      artifact(call("look_up", { city: "Tokyo" })),
      artifact(toolResponse({ degrees: 31 })),
      artifact({ data: { code: "1+1" }, metadata: { adk_type: "executable_code" } }),
      artifact({ data: { output: "2" }, metadata: { adk_type: "code_execution_result" } }),
      artifact(
        { text: "The user wants the weather.", metadata: { adk_thought: true } },
        { text: "It is 31 degrees.", metadata: { adk_thought: false } },
      ),
    ];
    const history = [
      says("", { parts: [{ text: "Let me think.", metadata: { adk_thought: true } }] }),
    ];
    const outcome = outcomeOf("COMPLETED", { artifacts, history });
    expect(outcome).toEqual({ status: "success", response_text: "It is 31 degrees." });
  });

  it("shows progress and failures of an ADK agent without its thoughts", () => {
    const message = says("", {
      parts: [{ text: "Hm.", metadata: { adk_thought: true } }, { text: "One moment." }],
    });
    expect(outcomeOf("WORKING", { message })).toMatchObject({ progress: { text: "One moment." } });
    expect(outcomeOf("REJECTED", { message })).toMatchObject({ explanation: "One moment." });
  });

  it("attaches data that ADK does not mark", () => {
    const artifacts = [
      artifact({ text: "here" }, { data: { a: 1 }, metadata: { adk_type: "report" } }),
    ];
    expect(outcomeOf("COMPLETED", { artifacts })).toMatchObject({
      artifacts: [{ data: { a: 1 } }],
    });
  });

  const questionOf = (...parts: object[]) =>
    outcomeOf("INPUT_REQUIRED", {
      message: says("", { parts }),
      history: [says("An earlier text.")],
    });

  it("asks with the name and the arguments of the waiting tool", () => {
    const args = { purpose: "lunch", amount: 120 };
    const question = questionOf(
      call("look_up", {}),
      call("reimburse", args, waits),
      toolResponse({ status: "pending" }),
    );
    const prompt = `The tool \`reimburse\` waits for you. Its arguments:\n\n\`\`\`json\n${JSON.stringify(args, undefined, 2)}\n\`\`\``;
    expect(question).toEqual({
      status: "input_required",
      task_id: "t1",
      prompt,
      question_id: "m1",
    });
    const again = questionOf(call("reimburse", args), {
      text: "No input provided for function call id call-1",
    });
    expect(again).toMatchObject({
      prompt: `No input provided for function call id call-1\n\n${prompt}`,
    });
  });

  it("hides results of tools in a question", () => {
    const question = questionOf({ text: "Which one?" }, toolResponse({ rows: ["internal"] }));
    expect(question).toMatchObject({ prompt: "Which one?" });
  });

  it("asks for the approval of a tool with its name, arguments and hint", () => {
    const originalFunctionCall = { id: "call-0", name: "delete_file", args: { path: "/a.txt" } };
    const approval = (toolConfirmation: object) =>
      Object(
        questionOf(
          call("adk_request_confirmation", { originalFunctionCall, toolConfirmation }, waits),
        ),
      ).prompt;
    const tool =
      'The tool `delete_file` waits for you. Its arguments:\n\n```json\n{\n  "path": "/a.txt"\n}\n```';
    expect(approval({ hint: "This is final.", confirmed: false })).toBe(
      `${tool}\n\nThis is final.`,
    );
    expect(approval({ confirmed: false })).toBe(tool);
    expect(approval({ hint: "Please approve by responding with a FunctionResponse." })).toBe(tool);
  });

  it("offers approve and deny for a single approval", () => {
    const approval = call(
      "adk_request_confirmation",
      { originalFunctionCall: { name: "delete_file" } },
      waits,
    );
    const options = [
      { id: "adk-approve:call-1", label: "Approve", style: "primary" },
      { id: "adk-deny:call-1", label: "Deny", style: "danger" },
    ];
    expect(questionOf(approval)).toMatchObject({ options });
    expect(questionOf(approval, approval)).not.toHaveProperty("options");
    expect(questionOf(call("reimburse", {}, waits))).not.toHaveProperty("options");
  });

  it("asks with the text of a request for input", () => {
    const question = questionOf(
      call("adk_request_input", { interruptId: "i", message: "Which branch?" }, waits),
    );
    expect(question).toMatchObject({ prompt: "Which branch?" });
  });

  it("asks for credentials without showing stored ones", () => {
    const authConfig = { rawAuthCredential: { oauth2: { clientSecret: "not-for-slack" } } };
    const question = questionOf(call("adk_request_credential", { authConfig }, waits));
    expect(question).toMatchObject({
      kind: "auth",
      prompt: "The agent needs credentials for one of its tools.",
    });
    expect(JSON.stringify(question)).not.toContain("not-for-slack");
  });

  it.each([null, [], 7, { args: {} }, { name: "" }, { name: 7 }])(
    "shows a malformed call as raw JSON: %j",
    (data) => {
      const question = questionOf({ data, metadata: { adk_type: "function_call" } });
      expect(question).toMatchObject({
        prompt: `\`\`\`json\n${JSON.stringify(data, undefined, 2)}\n\`\`\``,
      });
    },
  );
});

describe("a question with data that holds no fields", () => {
  it.each([[], [{ text: "Additional input is required." }]])(
    "shows data without fields below the text of the question, if there is one: %j",
    (...texts) => {
      const parts = [
        ...texts,
        { data: { toolName: "delete_file" } },
        { url: "https://files.example/a.pdf" },
      ];
      const question = outcomeOf("INPUT_REQUIRED", { message: says("", { parts }) });
      const data = '```json\n{\n  "toolName": "delete_file"\n}\n```';
      expect(question).toMatchObject({
        prompt: [...texts.map(({ text }) => text), data].join("\n\n"),
      });
    },
  );
});

describe("a question with oversized data", () => {
  const deep = (depth: number, inner: unknown): unknown =>
    depth === 0 ? inner : [deep(depth - 1, inner)];
  const wide = Array.from({ length: 30_000 }, () => 1);

  it.each([
    ["deep and wide data", [{ data: deep(95, wide) }]],
    [
      "many parts with data",
      Array.from({ length: 100 }, () => ({ data: deep(95, wide.slice(0, 400)) })),
    ],
    ["a text of unpaired surrogates", [{ data: "🏯".repeat(50_000) }]],
  ])("shows only the beginning of oversized data: %s", (_what, parts) => {
    const question = outcomeOf("INPUT_REQUIRED", { message: says("", { parts }) });
    const { prompt } = Object(question);
    expect(prompt).toMatch(/^```json\n/);
    expect(prompt.length).toBeLessThan(4 * JSON.stringify(parts).length);
    expect(prompt.length).toBeLessThan(100_000);
    expect(prompt.isWellFormed()).toBe(true);
  });

  it("marks data that was cut", () => {
    const question = outcomeOf("INPUT_REQUIRED", {
      message: says("", { parts: [{ data: wide }] }),
    });
    expect(question).toMatchObject({
      prompt: expect.stringMatching(/\n\nThe data is longer than what is shown\.$/),
    });
  });
});

describe("a message instead of a task", () => {
  it("returns a message as the answer", () => {
    const message = {
      ...says("hi"),
      parts: [{ text: "hi" }, { text: "there" }, { data: { a: 1 } }],
    };
    expect(bothVersions({ message: messageSchema.parse(message) })).toEqual({
      status: "success",
      response_text: "hi\nthere",
      artifacts: [{ data: { a: 1 } }],
    });
  });
});

describe("an answer in the form of any version", () => {
  const of10 = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } };
  const of03 = { ...of10, status: { state: "completed" } };
  const artifacts10 = [{ artifactId: "a", parts: [{ text: "HELLO" }] }];
  const artifacts03 = [{ artifactId: "a", parts: [{ kind: "text", text: "HELLO" }] }];
  const holding = (...parts: object[]) => ({ ...of10, artifacts: [{ artifactId: "a", parts }] });

  it.each<[string, object]>([
    ["a task of 1.0", { task: { ...of10, artifacts: artifacts10 } }],
    ["a bare task of 1.0", { ...of10, artifacts: artifacts10 }],
    ["a bare task of 1.0 with a kind", { kind: "task", ...of10, artifacts: artifacts10 }],
    ["a task of 0.3", { kind: "task", ...of03, artifacts: artifacts03 }],
    [
      "a task of 0.3 in a member",
      { task: { kind: "task", ...of03, artifacts: artifacts03 }, message: null },
    ],
    ["a task of 0.3 without a kind", { ...of03, artifacts: artifacts03 }],
    ["a task of 0.3 without any kinds", { ...of03, artifacts: artifacts10 }],
    [
      "a task of 0.3 with a message of another kind",
      { ...of03, kind: "task", artifacts: artifacts03, message: "ok" },
    ],
    ["a task whose kind is null", { ...of03, kind: null, artifacts: artifacts03 }],
    ["a task in another case", { ...of10, status: { state: "Completed" }, artifacts: artifacts10 }],
    [
      "a message of 1.0",
      { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "HELLO" }] } },
    ],
    [
      "a message of 0.3",
      { kind: "message", role: "agent", parts: [{ kind: "text", text: "HELLO" }] },
    ],
    [
      "a message of 0.3 in a member",
      { message: { role: "agent", parts: [{ kind: "text", text: "HELLO" }] } },
    ],
    [
      "a message without a kind",
      { role: "agent", messageId: "m", parts: [{ kind: "text", text: "HELLO" }] },
    ],
    ["a part with a type", holding({ type: "text", text: "HELLO" })],
    ["a part in a root", holding({ root: { kind: "text", text: "HELLO" } })],
    [
      "an answer only in the history",
      { ...of03, history: [{ role: "agent", parts: [{ text: "HELLO" }] }] },
    ],
  ])("reads the answer from %s", (_, result) => {
    const wireResult = readResult({ operation: "SendMessage", result });
    expect(toZoneResult({ result: wireResult, retryAfterMs: undefined })).toEqual({
      status: "success",
      response_text: "HELLO",
    });
  });

  it.each<[string, object]>([
    ["without a wrapper", of03],
    ["in a member", { task: of10 }],
  ])("reads a task as the result of GetTask %s", (_, result) => {
    expect(readResult({ operation: "GetTask", result })).toMatchObject({ id: "t1" });
  });

  it.each<[string, object]>([
    [
      "of 0.3",
      { kind: "file", file: { uri: "https://f.example/a", name: "a", mimeType: "text/csv" } },
    ],
    ["of 1.0", { url: "https://f.example/a", filename: "a", mediaType: "text/csv" }],
    [
      "of the proto of 0.3",
      { file: { fileWithUri: "https://f.example/a", name: "a", mimeType: "text/csv" } },
    ],
  ])("reads files %s", (_, part) => {
    const wireResult = readResult({
      operation: "SendMessage",
      result: holding({ text: "HELLO" }, part),
    });
    expect(toZoneResult({ result: wireResult, retryAfterMs: undefined })).toMatchObject({
      artifacts: [{ url: "https://f.example/a", name: "a", mimetype: "text/csv" }],
    });
  });

  it.each<[string, object]>([
    ["of 1.0", { statusUpdate: { taskId: "t1", status: { state: "TASK_STATE_WORKING" } } }],
    ["of 0.3", { kind: "artifact-update", taskId: "t1", artifact: {} }],
    ["without a kind", { taskId: "t1", status: { state: "working" } }],
    ["of an artifact without a kind", { taskId: "t1", artifact: {} }],
  ])("returns accepted for an update %s", (_, result) => {
    const wireResult = readResult({ operation: "SendMessage", result });
    expect(toZoneResult({ result: wireResult, retryAfterMs: undefined })).toEqual({
      status: "accepted",
      task_id: "t1",
    });
  });

  it.each(["canceled", "cancelled", "TASK_STATE_CANCELLED"])(
    "accepts the spelling %s of a canceled state",
    (state) => {
      expect(
        readResult({ operation: "GetTask", result: { id: "t1", status: { state } } }),
      ).toMatchObject({
        status: { state: "TASK_STATE_CANCELED" },
      });
    },
  );
});

describe("a malformed result", () => {
  const task = (status: object) => ({ id: "t1", contextId: "c1", status });
  it.each([
    { task: task({ state: "TASK_STATE_UNSPECIFIED" }) },
    { task: task({ state: "TASK_STATE_DREAMING" }) },
    { task: { status: { state: "completed" } } },
    { message: { ...says("hi"), parts: [] } },
    { status: "success", response_text: "hi" },
    { kind: "task", ...task({ state: "unknown" }) },
    { kind: "dream", ...task({ state: "completed" }) },
    "task",
    [task({ state: "completed" })],
    null,
  ] as const)("rejects the malformed result %j", (result) => {
    expect(() => readResult({ operation: "SendMessage", result })).toThrow(
      expect.objectContaining({ reason: "invalid_response" }),
    );
  });

  it("rejects a message as the result of GetTask", () => {
    expect(() => readResult({ operation: "GetTask", result: { message: says("hi") } })).toThrow(
      expect.objectContaining({ reason: "invalid_response", certainty: "refused" }),
    );
  });

  it.each<[string, object]>([
    ["without a wrapper", { kind: "task", ...task({ state: "completed" }), artifacts: 7 }],
    ["in a member", { task: { ...task({ state: "TASK_STATE_COMPLETED" }), artifacts: 7 } }],
  ])("marks a broken result of a completed task as ended: %s", (_, result) => {
    expect(() => readResult({ operation: "SendMessage", result })).toThrow(
      expect.objectContaining({ certainty: "ended" }),
    );
  });
});

describe("oversized lists", () => {
  const zeros = Array.from({ length: 500_000 }, () => 0);
  const completedTask = {
    id: "t1",
    contextId: "c1",
    status: { state: "TASK_STATE_COMPLETED", message: says("Done.") },
  };
  const readLater = (result: object) => () => readResult({ operation: "SendMessage", result });

  it.each([
    ["artifacts", { task: { ...completedTask, artifacts: zeros } }],
    [
      "parts of an artifact",
      { task: { ...completedTask, artifacts: [artifact(), { artifactId: "a2", parts: zeros }] } },
    ],
    [
      "parts of many artifacts",
      {
        task: {
          ...completedTask,
          artifacts: zeros.slice(0, 90).map(() => artifact(...Array(1000).fill({}))),
        },
      },
    ],
    ["parts of a message", { message: { ...says(""), parts: zeros } }],
    [
      "parts of the task's message",
      {
        task: {
          ...completedTask,
          status: { ...completedTask.status, message: { ...says(""), parts: zeros } },
        },
      },
    ],
    [
      "parts of old messages",
      {
        task: {
          ...completedTask,
          history: zeros.slice(0, 90).map(() => ({ ...says(""), parts: Array(1000).fill({}) })),
        },
      },
    ],
  ])("rejects an oversized list before it reads its entries: %s", (_what, result) => {
    let entries = 0;
    const watchMembers = (value: unknown): unknown =>
      typeof value !== "object" || value === null
        ? value
        : new Proxy(value, {
            get: (target, name) => {
              if (typeof name === "string" && /^\d+$/.test(name)) entries += 1;
              return watchMembers(Reflect.get(target, name));
            },
          });
    expect(readLater(watchMembers(result) as object)).toThrow(
      expect.objectContaining({ reason: "invalid_response" }),
    );
    expect(entries).toBeLessThan(1000);
  });

  it("reads an oversized history from its end", () => {
    const result = {
      task: {
        ...completedTask,
        status: { state: completedTask.status.state },
        history: [...zeros, says("The last words.")],
      },
    };
    expect(
      toZoneResult({ result: readLater(result)() as never, retryAfterMs: undefined }),
    ).toMatchObject({
      response_text: "The last words.",
    });
  });
});
