/** Params and results that the methods accept or refuse. The zod schemas and the generated JSON Schemas must agree with them. */
import type { MethodName } from "@sekisho/contracts/methods.ts";

/** `codeOnly`: a rule that JSON Schema cannot express. */
export type MethodCase = {
  name: string;
  method: MethodName;
  side: "params" | "result";
  value: unknown;
  accepted: boolean;
  codeOnly?: true;
};

const task = { channel: "C1", text: "hello" };
const attachment = {
  id: "F1",
  name: "a.txt",
  mimetype: "text/plain",
  size: 0,
  url: "https://files.example/a",
};
const message = { role: "user", text: "earlier" };
const context = {
  channel_name: "ops",
  channel_kind: "private",
  channel_topic: "Incidents",
  open: [
    { type: "channel", id: "C1", name: "ops" },
    { type: "canvas", id: "F1" },
    { type: "message", id: "1700000000.000100", channel: "C1" },
  ],
};
const textOfBytes = (bytes: number) => ({ role: "user", text: "x".repeat(bytes) });
const question = { status: "input_required", task_id: "t", prompt: "Where?" };
const vote = { task_id: "t", vote: "up", voter_id: "v", voted_at: "2026-11-26T08:00:00Z" };
const session = (length: number) => "s".repeat(length);

const casesOf =
  (side: MethodCase["side"]) =>
  (method: MethodName, accepted: boolean, cases: Readonly<Record<string, unknown>>): MethodCase[] =>
    Object.entries(cases).map(([name, value]) => ({ name, method, side, value, accepted }));
const params = casesOf("params");
const results = casesOf("result");
function codeOnly(cases: readonly MethodCase[]): MethodCase[] {
  return cases.map((one) => ({ ...one, codeOnly: true }));
}

export const methodCases: readonly MethodCase[] = [
  ...params("execute_task", true, {
    "the two required params": task,
    "a channel of 64 characters": { ...task, channel: "C".repeat(64) },
    "a text of 40,000 characters": { ...task, text: "x".repeat(40_000) },
    "an empty text with an attachment": { ...task, text: "", attachments: [attachment] },
    "a timestamp of Slack": { ...task, thread_ts: "1700000000.000100" },
    "every known param": {
      ...task,
      thread_ts: "1.2",
      team_id: "T1",
      user_id: "U1",
      correlation_id: "c",
      attachments: [
        { ...attachment, sha256: "0".repeat(64), expires_at: "2026-11-01T00:00:00+09:00" },
      ],
      history: [
        { role: "assistant", text: "", user_id: "U2", ts: "1.1", name: "Robin", bot: true },
      ],
      context,
      session_id: session(33),
      timeout_ms: 1,
      callback: true,
      bot_token: "placeholder",
    },
    "no channel": { text: "hello" },
    "a param that it does not know": { ...task, newer: { than: "us" } },
    "twenty attachments": { ...task, attachments: Array(20).fill(attachment) },
    "fifty earlier messages": { ...task, history: Array(50).fill(message) },
    "an earlier message of 4,000 characters": { ...task, history: [textOfBytes(4000)] },
    "an earlier message of a person, marked as such": {
      ...task,
      history: [{ ...message, bot: false }],
    },
    "an earlier message with a name of 200 characters": {
      ...task,
      history: [{ ...message, name: "関".repeat(200) }],
    },
    "an empty context": { ...task, context: {} },
    "a context without open things": { ...task, context: { open: [] } },
    "a context with unset members": { ...task, context: { ...context, topic: null, newer: 1 } },
    "ten open things": { ...task, context: { open: Array(10).fill({ type: "list", id: "F1" }) } },
    "an open thing of a type that it does not know": {
      ...task,
      context: { open: [{ type: "board", id: "B1" }] },
    },
    "a session id of 100 characters": { ...task, session_id: session(100) },
  }),
  ...params("execute_task", false, {
    "no params": undefined,
    "params by position": ["C1", "hello"],
    "params that are a text": "hello",
    "params that are null": null,
    "a channel of 65 characters": { ...task, channel: "C".repeat(65) },
    "a channel that is a number": { ...task, channel: 1 },
    "no text": { channel: "C1" },
    "a text of 40,001 characters": { ...task, text: "x".repeat(40_001) },
    "an empty text without attachments": { ...task, text: "" },
    "an empty text with an empty list of attachments": { ...task, text: "", attachments: [] },
    "a thread_ts without a fraction": { ...task, thread_ts: "1700000000" },
    "a thread_ts with a line break": { ...task, thread_ts: "1.2\n" },
    "a user_id of 65 characters": { ...task, user_id: "U".repeat(65) },
    "a correlation_id of 129 characters": { ...task, correlation_id: "c".repeat(129) },
    "twenty-one attachments": { ...task, attachments: Array(21).fill(attachment) },
    "an attachment of a negative size": { ...task, attachments: [{ ...attachment, size: -1 }] },
    "an attachment with a wrong digest": {
      ...task,
      attachments: [{ ...attachment, sha256: "F".repeat(64) }],
    },
    "fifty-one earlier messages": { ...task, history: Array(51).fill(message) },
    "an earlier message of 4,001 characters": { ...task, history: [textOfBytes(4001)] },
    "an earlier message of the system": { ...task, history: [{ role: "system", text: "obey" }] },
    "an earlier message with a name of 201 characters": {
      ...task,
      history: [{ ...message, name: "n".repeat(201) }],
    },
    "an earlier message of a bot with a name in bot": {
      ...task,
      history: [{ ...message, bot: "B1" }],
    },
    "a context that is a text": { ...task, context: "in #ops" },
    "a kind of channel that Slack does not have": { ...task, context: { channel_kind: "secret" } },
    "a channel name of 201 characters": { ...task, context: { channel_name: "n".repeat(201) } },
    "a topic of 1,001 characters": { ...task, context: { channel_topic: "t".repeat(1001) } },
    "eleven open things": {
      ...task,
      context: { open: Array(11).fill({ type: "list", id: "F1" }) },
    },
    "an open thing without an id": { ...task, context: { open: [{ type: "channel" }] } },
    "a session id of 32 characters": { ...task, session_id: session(32) },
    "a session id of 101 characters": { ...task, session_id: session(101) },
    "a session id that starts with a dash": { ...task, session_id: `-${session(40)}` },
    "a timeout of 0": { ...task, timeout_ms: 0 },
    "a timeout with a fraction": { ...task, timeout_ms: 1.5 },
    "a callback with an address": { ...task, callback: "https://elsewhere.example" },
  }),
  ...codeOnly([
    ...params("execute_task", true, {
      "an attachment by http on loopback": {
        ...task,
        attachments: [{ ...attachment, url: "http://127.0.0.1:80/a" }],
      },
      "an attachment by http on loopback over IPv6": {
        ...task,
        attachments: [{ ...attachment, url: "http://[::1]/a" }],
      },
    }),
    ...params("execute_task", false, {
      "an attachment by http elsewhere": {
        ...task,
        attachments: [{ ...attachment, url: "http://files.example/a" }],
      },
      "an attachment by http from a host that looks like loopback": {
        ...task,
        attachments: [{ ...attachment, url: "http://127.0.0.1.files.example/a" }],
      },
      "an attachment from a file": {
        ...task,
        attachments: [{ ...attachment, url: "file:///etc/passwd" }],
      },
      "an attachment with an invalid url": { ...task, attachments: [{ ...attachment, url: "a" }] },
      "more than 64 KiB of history": { ...task, history: Array(17).fill(textOfBytes(4000)) },
      "more than 64 KiB of history in bytes, not in characters": {
        ...task,
        history: Array(8).fill({ role: "user", text: "関".repeat(3000) }),
      },
    }),
  ]),
  ...params("get_task", true, {
    "a task id": { task_id: "t" },
    "a task id of 256 characters": { task_id: "t".repeat(256) },
    "a request id": { request_id: "r" },
    "a wait of 0": { task_id: "t", wait_ms: 0 },
    "a wait of 25 seconds": { task_id: "t", wait_ms: 25_000 },
    "a param that it does not know": { task_id: "t", newer: 1 },
  }),
  ...params("get_task", false, {
    "neither id": {},
    "both ids": { task_id: "t", request_id: "r" },
    "an empty task id": { task_id: "" },
    "a task id of 257 characters": { task_id: "t".repeat(257) },
    "a wait above 25 seconds": { task_id: "t", wait_ms: 25_001 },
    "a negative wait": { task_id: "t", wait_ms: -1 },
  }),
  ...params("cancel_task", true, {
    "a task id": { task_id: "t" },
    "a reason": { request_id: "r", reason: "no longer" },
  }),
  ...params("cancel_task", false, {
    "neither id": { reason: "x" },
    "both ids": { task_id: "t", request_id: "r" },
  }),
  ...params("answer_task", true, {
    "an option": { task_id: "t", option_id: "yes", user_id: "U1" },
    "a text": { task_id: "t", text: "yes" },
    "values of fields": {
      task_id: "t",
      fields: { region: "eu", tags: ["a", "b"], count: 2.5, day: "2026-03-31" },
    },
    "values that are absent": { task_id: "t", fields: { region: "", tags: [], count: null } },
    "no values": { task_id: "t", fields: {} },
    "an option that two people chose": {
      task_id: "t",
      option_id: "yes",
      user_id: "U2",
      approved_by: ["U1", "U2"],
    },
  }),
  ...params("answer_task", false, {
    "a value that is an object": { task_id: "t", fields: { region: {} } },
    "a value of 3,001 characters": { task_id: "t", fields: { region: "x".repeat(3001) } },
    "a field with an invalid id": { task_id: "t", fields: { "a b": "eu" } },
    "a field that is the name of a prototype": { task_id: "t", fields: { __proto: 1, _x: "eu" } },
    "values of twenty-one fields": {
      task_id: "t",
      fields: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`f${index}`, "x"])),
    },
    "an option that nobody chose": { task_id: "t", option_id: "yes", approved_by: [] },
    "an option that eleven people chose": {
      task_id: "t",
      option_id: "yes",
      approved_by: Array.from({ length: 11 }, (_, index) => `U${index}`),
    },
  }),
  ...params("answer_task", false, {
    "no task id": { option_id: "yes" },
    "a request id instead": { request_id: "r" },
  }),
  ...params("feedback", true, {
    "a vote on a task": vote,
    "a vote on a request": {
      ...vote,
      task_id: undefined,
      request_id: "r",
      vote: "down",
      voted_at: "2026-11-26T09:00:00+01:00",
    },
  }),
  ...params("feedback", false, {
    "neither id": { ...vote, task_id: undefined },
    "another vote": { ...vote, vote: "sideways" },
    "no voter": { ...vote, voter_id: undefined },
    "an empty voter": { ...vote, voter_id: "" },
    "a time without a zone": { ...vote, voted_at: "2026-11-26T08:00:00" },
  }),
  ...params("rpc.discover", true, { "empty params": {} }),
  ...params("rpc.discover", false, { "params by position": [] }),
  ...codeOnly(params("rpc.discover", true, { "no params": undefined })),

  ...results("execute_task", true, {
    "a success": { status: "success", response_text: "" },
    "a success with fields of its own": {
      status: "success",
      response_text: "done",
      attachments: [{ any: "thing" }],
      artifacts: [{ name: "a", mimetype: "text/plain", text: "x" }, { url: "s3://bucket/key" }],
      usage: { input_tokens: 1 },
      correlation_id: "c",
      own: { deep: [1] },
    },
    accepted: { status: "accepted", task_id: "t" },
    "accepted with a task id of 256 characters": { status: "accepted", task_id: "t".repeat(256) },
    "accepted with advice": {
      status: "accepted",
      task_id: "t",
      poll_after_ms: 0,
      expires_at: "2026-11-01T00:00:00Z",
    },
    "a question": {
      status: "input_required",
      task_id: "t",
      prompt: "Deploy?",
      options: [
        { id: "y", label: "Yes", style: "primary" },
        { id: "n", label: "No" },
      ],
      expires_at: "2026-11-01T00:00:00.000+00:00",
    },
    "a question for two people of a group": {
      ...question,
      options: [{ id: "y", label: "Yes" }],
      answerers: { group: "S012AB3CD" },
      approvals: 2,
    },
    "a question with a link to sign in": {
      ...question,
      kind: "auth",
      url: "https://sign-in.example/start?state=a%2Fb",
    },
    "a question with a link to sign in on this machine": {
      ...question,
      kind: "auth",
      url: "http://127.0.0.1:8080/start",
    },
  }),
  ...results("execute_task", false, {
    "a question for people of an unknown kind": { ...question, answerers: "admins" },
    "a question for a group and more": {
      ...question,
      answerers: { group: "S012AB3CD", except: "U1" },
    },
    "a question for nobody": { ...question, approvals: 0 },
    "a question for half a person": { ...question, approvals: 1.5 },
    "a question for eleven people": { ...question, approvals: 11 },
    "a link to sign in that is a script": { ...question, kind: "auth", url: "javascript:alert(1)" },
    "a link to sign in over http": { ...question, kind: "auth", url: "http://sign-in.example/" },
    "a question with a field of no type": { ...question, fields: [{ id: "a", label: "A" }] },
    "a question with a field of an unknown type": {
      ...question,
      fields: [{ id: "a", label: "A", type: "colour" }],
    },
    "a question with a blank label": {
      ...question,
      fields: [{ id: "a", label: " ", type: "text" }],
    },
    "a question with a choice without options": {
      ...question,
      fields: [{ id: "a", label: "A", type: "choice", options: [] }],
    },
    "a question with an empty list of fields": { ...question, fields: [] },
    "a question with twenty-one fields": {
      ...question,
      fields: Array.from({ length: 21 }, (_, index) => ({
        id: `f${index}`,
        label: "A",
        type: "text",
      })),
    },
    "no status": { response_text: "x" },
    "an unknown status": { status: "done", response_text: "x" },
    "a success without a text": { status: "success" },
    "a success whose text is an object": { status: "success", response_text: {} },
    "accepted without a task id": { status: "accepted" },
    "accepted with an empty task id": { status: "accepted", task_id: "" },
    "accepted with a task id of 257 characters": { status: "accepted", task_id: "t".repeat(257) },
    "accepted with an invalid expiry": {
      status: "accepted",
      task_id: "t",
      expires_at: "tomorrow",
    },
    "accepted that is to be polled in the past": {
      status: "accepted",
      task_id: "t",
      poll_after_ms: -1,
    },
    "a question without a prompt": { status: "input_required", task_id: "t" },
    "a failure as a result": { status: "error", error_code: "E" },
    "a canceled task, which is an error": { status: "canceled", task_id: "t" },
    "a text": "done",
    null: null,
  }),
  ...results("get_task", true, {
    "a question with fields of all types": {
      ...question,
      fields: [
        {
          id: "region",
          label: "Region",
          type: "choice",
          required: true,
          options: [{ id: "eu", label: "Europe" }],
        },
        { id: "tags", label: "Tags", type: "choices", options: [{ id: "a", label: "A" }] },
        { id: "why", label: "Why", type: "text", multiline: true, max_length: 3000 },
        { id: "count", label: "How many", type: "number", min: -1.5, max: 10 },
        { id: "day", label: "Day", type: "date", required: false },
      ],
    },
  }),
  ...codeOnly(
    results("get_task", false, {
      "a question with two fields of one id": {
        ...question,
        fields: [
          { id: "a", label: "A", type: "text" },
          { id: "a", label: "B", type: "date" },
        ],
      },
      "a question with two choices of one id": {
        ...question,
        fields: [
          { id: "a", label: "A", type: "choice", options: Array(2).fill({ id: "x", label: "X" }) },
        ],
      },
      "a question with a number between 2 and 1": {
        ...question,
        fields: [{ id: "a", label: "A", type: "number", min: 2, max: 1 }],
      },
      "a question with more than 32 KiB of fields": {
        ...question,
        fields: Array.from({ length: 5 }, (_, index) => ({
          id: `f${index}`,
          label: "A",
          type: "choice",
          options: Array.from({ length: 100 }, (_each, at) => ({
            id: `o${at}`,
            label: "関".repeat(60),
          })),
        })),
      },
    }),
  ),
  ...results("get_task", true, {
    "accepted with progress": {
      status: "accepted",
      task_id: "t",
      progress: { text: "half", percent: 50 },
    },
    "accepted with empty progress": { status: "accepted", task_id: "t", progress: {} },
  }),
  ...results("get_task", false, {
    "progress of 101 percent": { status: "accepted", task_id: "t", progress: { percent: 101 } },
    "progress that is a text": { status: "accepted", task_id: "t", progress: "half" },
  }),
  ...results("cancel_task", true, { canceled: { status: "canceled", task_id: "t" } }),
  ...results("cancel_task", false, { "a success": { status: "success", response_text: "x" } }),
  ...results("rpc.discover", true, { "a document": { openrpc: "1.3.2", info: {} } }),
  ...results("rpc.discover", false, { nothing: {} }),
];
