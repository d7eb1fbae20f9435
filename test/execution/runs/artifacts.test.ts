/** The artifacts of an agent: what is mended, and what is left out while the task goes on. */
import { describe, expect, it } from "@jest/globals";
import type { TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { createTestHost, hello, yielding } from "../test-host.ts";

/** The result of an agent that yields these artifacts and then answers, and the causes that were logged. */
async function resultOf(artifacts: readonly unknown[], answer: object = { text: "done" }) {
  const updates = [
    ...artifacts.map((artifact) => ({ type: "artifact", artifact })),
    { type: "answer", ...answer },
  ];
  const { call, lines } = createTestHost({ agent: yielding(...(updates as TaskUpdate[])) });
  const { result, error } = await call("execute_task", hello);
  const logLines = lines.map(
    (line) => JSON.parse(line) as { message: string; cause_kind?: string },
  );
  const leftOut = logLines.filter(({ message }) => message === "agent_artifact_left_out");
  return {
    result,
    reason: error?.data.reason,
    leftOut: leftOut.map(({ cause_kind }) => cause_kind),
  };
}

describe("an artifact with a url", () => {
  it.each([
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/plain,a",
    "http://example.com/a",
    "https://10.0.0.1/a",
    "https://[fd00::1]/a",
    "https://metadata.google.internal/a",
    "https://files/a",
    "https://name:word@example.com/a",
    "not an address",
  ])("leaves out an artifact with the unreadable URL %s, and logs why", async (url) => {
    const { result, leftOut } = await resultOf([{ url }, { text: "kept" }]);
    expect(result).toMatchObject({
      status: "success",
      response_text: "done",
      artifacts: [{ text: "kept" }],
    });
    expect(leftOut).toEqual(["artifact.url: not_public_https"]);
  });

  it.each([
    "https://files.example/a",
    "https://8.8.8.8/a",
    "http://127.0.0.1:9/a",
    "http://localhost:9/a",
  ])("sends an artifact with the URL %s", async (url) => {
    const { result, leftOut } = await resultOf([{ url }]);
    expect(result?.artifacts).toEqual([{ url }]);
    expect(leftOut).toEqual([]);
  });

  it("fails the task when the whole answer is an artifact that is left out", async () => {
    expect((await resultOf([{ url: "file:///a" }], { text: "" })).reason).toBe("execution_failed");
  });
});

it("sends the first hundred artifacts and logs the others", async () => {
  const { result, leftOut } = await resultOf(
    Array.from({ length: 102 }, (_, index) => ({ text: `${index}` })),
  );
  expect(result?.artifacts).toHaveLength(100);
  expect(result?.artifacts?.at(-1)).toEqual({ text: "99" });
  expect(leftOut).toEqual(["artifact: too_many", "artifact: too_many"]);
});

describe("the normalization of an artifact", () => {
  it.each([
    [
      "with unset contents as null",
      { name: null, text: "a", base64: null, data: null, url: null },
      { text: "a" },
    ],
    ["with line breaks in its base64", { base64: "YWJj\r\nZA==\n" }, { base64: "YWJjZA==" }],
    [
      "with a name that is too long",
      { name: "n".repeat(300), text: "a" },
      { name: "n".repeat(255), text: "a" },
    ],
    [
      "with a name to be cut within a character",
      { name: `${"n".repeat(254)}🦊`, text: "a" },
      { name: "n".repeat(254), text: "a" },
    ],
  ])("normalizes an artifact %s", async (_what, artifact, sentArtifact) => {
    expect((await resultOf([artifact])).result?.artifacts).toEqual([sentArtifact]);
  });

  it.each([
    [{}],
    [{ name: "a", data: null }],
    [{ text: "a", url: "https://a.example/" }],
    [{ base64: "%" }],
    ["a"],
  ])("fails the task for an artifact without exactly one content: %j", async (artifact) => {
    expect((await resultOf([artifact])).reason).toBe("execution_failed");
  });
});

describe("the usage of an answer", () => {
  it.each<[unknown, object | undefined]>([
    [{ input_tokens: -5, output_tokens: 1.5, total_tokens: "7" }, undefined],
    [
      { input_tokens: 3, output_tokens: Number.NaN, model: "m" },
      { input_tokens: 3, model: "m" },
    ],
    [null, undefined],
    [{ input_tokens: 0 }, { input_tokens: 0 }],
  ])("drops usage counts that are not integers from 0 on: %j", async (usage, sentUsage) => {
    const { result } = await resultOf([], { text: "done", usage });
    expect(result).toMatchObject({ status: "success" });
    expect(result?.usage).toEqual(sentUsage);
  });
});
