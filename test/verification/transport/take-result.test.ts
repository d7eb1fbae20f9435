import { describe, expect, it } from "@jest/globals";
import { methods } from "@sekisho/contracts/methods.ts";
import { leftOutCountOf } from "@sekisho/verification/task/task.ts";
import { readResponse } from "@sekisho/verification/transport/read-response.ts";
import { takeErrorData, takeExplanation } from "@sekisho/verification/transport/take-result.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

const id = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";

function readBody(body: string | Uint8Array, dialect: "zone" | "a2a" = "zone") {
  const call = { method: "get_task", params: {}, id, requestId: id, dialect } as const;
  return readResponse({ response: { body: Buffer.from(body), status: 200 }, ...call });
}

const response = (text: string) =>
  `{"jsonrpc":"2.0","id":"${id}","result":{"status":"success","response_text":"${text}"}}`;
/** `result` is JSON. */
const readResult = (result: string) =>
  readBody(`{"jsonrpc":"2.0","id":"${id}","result":${result}}`);
const readArtifacts = (artifacts: string) =>
  readResult(`{"status":"success","response_text":"done","artifacts":[${artifacts}]}`);
const nest = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const acceptedMembers = '"status":"accepted","task_id":"t1"';
const asks = '"status":"input_required","task_id":"t1"';

describe("the text of a result", () => {
  it.each([
    ["half a surrogate pair", '"All done \\ud83d"', "All done \ufffd"],
    ["control characters", '"a\\u0000b\\u001b\\tc\\n"', "ab\tc\n"],
  ])("repairs a text with %s", (_what, text, responseText) => {
    expect(readResult(`{"status":"success","response_text":${text}}`)).toMatchObject({
      response_text: responseText,
    });
  });

  it("rejects invalid UTF-8 and repairs it for an A2A agent", () => {
    const [head = "", tail = ""] = response("?").split("?");
    const body = Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xc3]), Buffer.from(tail)]);
    expect(() => readBody(body)).toThrow(expect.objectContaining({ reason: "invalid_response" }));
    expect(readBody(body, "a2a")).toMatchObject({ response_text: "\ufffd\ufffd" });
  });

  it.each([
    ["a byte order mark", `\ufeff${response("hello")}`],
    ["a repeated key", response("hello").replace("{", '{"id":"another",')],
    ["a repeated key in the result", response('hello","response_text":"bye')],
  ])("rejects a response with %s", (_what, body) => {
    expect(() => readBody(Buffer.from(body))).toThrow(
      expect.objectContaining({ reason: "invalid_response" }),
    );
  });

  it.each([
    '{"status":"success"}',
    '{"status":"success","response_text":42}',
    '{"status":"success","response_text":null}',
  ])("ends the task if its result lacks a text: %s", (result) => {
    expect(() => readResult(result)).toThrow(
      expect.objectContaining({ reason: "invalid_response", certainty: "ended" }),
    );
  });

  it.each([
    ["another status", '{"status":"elsewhere"}'],
    ["null", "null"],
    ["a list", "[]"],
    ["no task id", '{"status":"accepted"}'],
    ["a deep list", nest(5000)],
  ])("rejects a result without information about the task: %s", (_what, result) => {
    expect(() => readResult(result)).toThrow(
      expect.objectContaining({ reason: "invalid_response", certainty: "refused" }),
    );
  });
});

describe("the steps of a running task", () => {
  it("accepts all steps of a task or drops them all", () => {
    const step = '{"id":"a","title":"Read","status":"in_progress"}';
    expect(
      readResult(`{${acceptedMembers},"progress":{"text":"t","steps":[${step}]}}`),
    ).toMatchObject({
      progress: { steps: [JSON.parse(step)] },
    });
    for (const steps of ['"all"', "[7]", `[${step},{"id":"b"}]`, `[${Array(51).fill(step)}]`]) {
      expect(
        readResult(`{${acceptedMembers},"progress":{"text":"t","steps":${steps}}}`),
      ).toMatchObject({
        progress: { text: "t" },
      });
    }
  });
});

describe("the fields of a question", () => {
  it("accepts all fields of a question or drops them all, so that a required field is never missing", () => {
    const field = '{"id":"a","label":"A","type":"text"}';
    expect(readResult(`{${asks},"prompt":"Where?","fields":[${field}]}`)).toMatchObject({
      fields: [JSON.parse(field)],
    });
    for (const fields of [
      '"all"',
      "[]",
      `[${field},{"id":"b"}]`,
      `[${field},${field}]`,
      `[${Array(21).fill(field)}]`,
    ]) {
      expect(readResult(`{${asks},"prompt":"Where?","fields":${fields}}`)).toEqual(
        expect.not.objectContaining({ fields: expect.anything() }),
      );
    }
  });
});

describe("null and the empty text in optional members", () => {
  it.each([
    [
      "of the envelope",
      `{"jsonrpc":"2.0","id":"${id}","result":{"status":"success","response_text":"hello"},"error":null}`,
    ],
    [
      "of a success",
      `{"jsonrpc":"2.0","id":"${id}","result":{"status":"success","response_text":"hello","artifacts":null,"usage":null,"correlation_id":""}}`,
    ],
  ])("treats empty optional members as absent: %s", (_where, body) => {
    expect(JSON.parse(JSON.stringify(readBody(body)))).toEqual({
      status: "success",
      response_text: "hello",
    });
  });

  it("treats empty optional members of an error as absent", () => {
    const body = `{"jsonrpc":"2.0","id":"${id}","result":null,"error":{"code":-32061,"message":"?","data":{"retry_after_ms":null,"task_id":""}}}`;
    expect(() => readBody(body)).toThrow(
      expect.objectContaining({ reason: "task_not_found", details: {} }),
    );
  });

  it.each([
    [
      acceptedMembers,
      '"poll_after_ms":null,"expires_at":"","progress":{"text":"","percent":null,"partial_text":null}',
    ],
    [asks, '"prompt":"which?","options":null,"kind":"","question_id":"","expires_at":null'],
  ])("treats empty optional members as absent: %s", (knownMembers, optional) => {
    const takenResult = JSON.parse(JSON.stringify(readResult(`{${knownMembers},${optional}}`)));
    const { progress, ...others } = takenResult;
    expect(Object.keys(others).sort()).toEqual(
      knownMembers === acceptedMembers ? ["status", "task_id"] : ["prompt", "status", "task_id"],
    );
    expect(progress ?? {}).toEqual({});
  });
});

describe("the artifacts of a result", () => {
  it.each([
    ["JSON nested too deeply", `{"name":"deep.json","data":${nest(101)}}`],
    ["JSON nested deeper than any stack", `{"name":"deep.json","data":${nest(100_000)}}`],
    ["a script as an address", '{"url":"javascript:alert(1)"}'],
    ["a file of this machine", '{"url":"file:///etc/passwd"}'],
    ["data as an address", '{"url":"data:text/plain,hello"}'],
    ["an invalid address", '{"url":"//nowhere"}'],
    ["an address with an oversized host", `{"url":"https://${"é".repeat(501)}.example/"}`],
    ["bytes that are not base64", '{"base64":"%%%"}'],
    ["a text that is not a string", '{"text":{"a":1}}'],
    ["not an object", '"x"'],
  ])("leaves out and counts an artifact that is %s", (_what, artifact) => {
    const result = readArtifacts(`${artifact},{"name":"a.txt","text":"kept"}`);
    expect(result).toMatchObject({
      response_text: "done",
      artifacts: [{ name: "a.txt", text: "kept" }],
    });
    expect(leftOutCountOf(result)).toBe(1);
  });

  it.each([
    ["every content null", '{"name":"n","text":null,"base64":null,"data":null,"url":null}'],
    ["nothing but a name", '{"name":"n"}'],
  ])("leaves out an artifact with %s", (_what, artifact) => {
    const result = readArtifacts(`${artifact},{"text":"a"}`);
    expect(result).toMatchObject({ artifacts: [{ text: "a" }] });
    expect(leftOutCountOf(result)).toBe(1);
  });

  it("drops the null contents of an artifact", () => {
    const result = readArtifacts('{"name":null,"text":"a","base64":null,"data":null,"url":null}');
    expect(result).toMatchObject({ artifacts: [{ text: "a" }] });
    expect(Object.keys((result as { artifacts: object[] }).artifacts[0] ?? {})).toEqual(["text"]);
  });

  it("joins base64 that is broken into lines", () => {
    const artifacts = [{ base64: "YWJjZA==" }];
    expect(readArtifacts('{"base64":"YWJj\\r\\nZA==\\n"}')).toMatchObject({ artifacts });
  });

  it("treats an empty text as missing artifacts", () => {
    const result = readResult('{"status":"success","response_text":"done","artifacts":""}');
    expect(result).toEqual({ status: "success", response_text: "done" });
  });

  it("keeps a hundred artifacts at most and counts the others", () => {
    const result = readArtifacts(Array.from({ length: 10_000 }, () => '{"text":""}').join(","));
    expect(result).toMatchObject({ artifacts: { length: 100 } });
    expect(leftOutCountOf(result)).toBe(9900);
  });

  it("repairs names and keys of artifacts and keeps the contents that are valid", () => {
    const json = `{"name":"${"n".repeat(300)}\\ud800","data":{"\\udc00":"\\ud800","__proto__":{"a":1},"n":1e999}}`;
    const result = readArtifacts(`${json},{"text":"kept","url":"ftp://files.example/a"}`);
    const data = { "\ufffd": "\ufffd", n: Number.POSITIVE_INFINITY };
    expect(result).toMatchObject({
      artifacts: [{ name: "n".repeat(255), data }, { text: "kept" }],
    });
    expect(leftOutCountOf(result)).toBe(0);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it("ignores a count of left-out artifacts that the peer sends", () => {
    expect(
      leftOutCountOf(readResult('{"status":"success","response_text":"done","left_out":7}')),
    ).toBe(0);
  });
});

describe("progress", () => {
  it.each([
    ['{"percent":1e999,"text":"half"}', { text: "half" }],
    ['{"percent":-1}', {}],
    ['{"text":"\\ud83d\\u0007"}', { text: "\ufffd" }],
    [`{"text":${nest(5000)},"percent":50}`, { percent: 50 }],
  ])("drops the invalid members of progress: %s", (progress, shown) => {
    const result = readResult(
      `{${acceptedMembers},"poll_after_ms":-1,"expires_at":"never","progress":${progress}}`,
    );
    expect(result).toEqual({
      status: "accepted",
      task_id: "t1",
      progress: expect.objectContaining(shown),
    });
  });

  it.each([
    ["a string", '"soon"'],
    ["null", "null"],
    ["a deep list", nest(5000)],
  ])("drops progress that is %s", (_what, progress) => {
    expect(readResult(`{${acceptedMembers},"progress":${progress}}`)).toEqual({
      status: "accepted",
      task_id: "t1",
    });
  });
});

describe("a question", () => {
  it("keeps a question even if its prompt and some options cannot be read", () => {
    const options =
      '[{"id":"a","label":"\\ud800"},{"id":7,"label":"no"},"x",{"id":"b","label":"B","style":9}]';
    const result = readResult(
      `{${asks},"prompt":42,"options":${options},"kind":"spell","question_id":"","expires_at":"x","deep":${nest(500)}}`,
    );
    expect(result).toEqual({
      status: "input_required",
      task_id: "t1",
      prompt: "",
      options: [
        { id: "a", label: "\ufffd" },
        { id: "b", label: "B" },
      ],
    });
  });
});

it("accepts any JSON of a peer or rejects it with a reason, and returns only valid results", () => {
  const members = [
    ..."status response_text artifacts progress prompt options task_id data __proto__".split(" "),
  ];
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" });
  const result = fc.tuple(
    fc.constantFrom("success", "accepted", "input_required", "canceled", "error", "\ud800"),
    fc.dictionary(fc.constantFrom(...members), value),
  );
  forAll(result).hold(([status, others]) => {
    try {
      const takenResult = readResult(JSON.stringify({ ...others, status }));
      expect(JSON.stringify(takenResult).isWellFormed()).toBe(true);
      expect(methods.get_task.result.parse(JSON.parse(JSON.stringify(takenResult)))).toBeDefined();
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "SekishoError") throw error;
    }
  }, 500);
});

describe("long lists", () => {
  const long = Array.from({ length: 500 }, () => ({
    fieldViolations: Array.from({ length: 500 }, () => 0),
  }));

  it("reads only the first hundred entries of an error's details", () => {
    const short = takeErrorData(long) as typeof long;
    expect(short).toHaveLength(100);
    expect(short[0]?.fieldViolations).toHaveLength(100);
    expect((takeErrorData({ issues: long }) as { issues: unknown[] }).issues).toHaveLength(100);
  });

  it("keeps only members of a result that the contract knows, and a thousand details of an error", () => {
    const members = Array.from({ length: 2000 }, (_, index) => `"k${index}":1`);
    const result = readResult(
      `{${members},"status":"success","response_text":"a","usage":{"input_tokens":1}}`,
    );
    expect(result).toEqual({ status: "success", response_text: "a", usage: { input_tokens: 1 } });
    const details = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [`k${index}`, "a"]),
    );
    expect(
      Object.keys((takeErrorData({ errors: details }) as { errors: object }).errors),
    ).toHaveLength(1000);
  });

  it("drops attachments of a result, because nothing reads them", () => {
    expect(
      readResult('{"status":"success","response_text":"done","attachments":[{"a":1}]}'),
    ).toEqual({
      status: "success",
      response_text: "done",
    });
  });
});

describe("an agent's explanation of its failure", () => {
  it("redacts tokens that were sent to the agent", () => {
    const echo = 'The basic plan: "Bearer abc.def-ghi", "Basic dTpw=", bot xoxb-123-abc';
    expect(takeExplanation(echo)).toBe(
      'The basic plan: "Bearer [redacted]", "Basic [redacted]", bot [redacted]',
    );
  });

  it.each([
    ["sk-proj-Abcd1234Efgh5678Ijkl9012"],
    ["AKIAIOSFODNN7EXAMPLE"],
    ["xoxb-123-abc"],
    ["ghp_0123456789abcdefghij0123456789abcdef"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
    ["Bearer abcdefghijklmnop", "Bearer [redacted]"],
    ["bearer aBcdefgh", "bearer [redacted]"],
  ])("redacts a known kind of token: %s", (token, mask = "[redacted]") => {
    expect(takeExplanation(`The key "${token}" is wrong.`)).toBe(`The key "${mask}" is wrong.`);
  });

  it("keeps words that only look like the name of a token", () => {
    const words =
      "A Bearer token, bearer authentication, Bearer credentials and the basic internationalization of sk-learn.";
    expect(takeExplanation(words)).toBe(words);
  });

  it("limits an explanation to 2000 characters and ignores anything but text", () => {
    expect(takeExplanation(`\u001b[31m\ud83d${"x".repeat(5000)}`)).toBe(
      `[31m\ufffd${"x".repeat(1994)}`,
    );
    for (const nothing of [undefined, null, "", " \n", {}, ["no"], true])
      expect(takeExplanation(nothing)).toBeUndefined();
  });
});
