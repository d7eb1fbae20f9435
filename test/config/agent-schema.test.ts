/** Agents elsewhere in the configuration. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { fillTemplate } from "@sekisho/config/request-template.ts";
import fc from "fast-check";
import { forAll } from "../doubles/for-all.ts";
import { problemsOf } from "./problems-of.ts";

const url = "https://agents.example/run";
const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:runtime/agent-abc123";
const bearer = { type: "bearer", token: { env: "KEY" } };

const asker = { mode: "optional", zones: [{ issuer: "https://asker.example" }] };
const problems = (agent: object) =>
  problemsOf({ execution: { agent: { type: "http", ...agent }, asker } });

describe("the agent http", () => {
  it("needs one line", () => {
    const json = { execution: { agent: { type: "http", runtimeArn } } };
    const request = { prompt: "{text}" };
    expect(parseConfig({ json }).execution.agent).toEqual({ type: "http", runtimeArn, request });
  });

  it.each<[object, string]>([
    [{}, "url: is needed, or runtimeArn"],
    [{ url, runtimeArn, authorizer: bearer }, "url: is needed, or runtimeArn"],
    [{ url, qualifier: "live", authorizer: bearer }, "qualifier: has no effect without runtimeArn"],
    [{ url: "http://agents.example/", authorizer: bearer }, "url: must be an https URL"],
    [
      { url: `${url}/{user}`, authorizer: bearer },
      "url: may have the placeholder {session} and {conversation} only",
    ],
    [{ url }, 'authorizer: must not be "none" for an address beyond loopback'],
    [{ runtimeArn, authorizer: { type: "none" } }, 'authorizer: must not be "none"'],
    [{ url, authorizer: { type: "asker" } }, 'authorizer: must not be "asker" for an agent'],
    [
      { url, authorizer: { type: "token-exchange", tokenUrl: url, subjectAudience: "a" } },
      "authorizer.subjectAudience: has no effect for an agent",
    ],
    [
      { url, authorizer: { type: "web-identity", audience: "a", tags: true } },
      "authorizer.tags: is for destinations only",
    ],
    [
      { runtimeArn, request: { a: [{ b: "x {sesion}" }] } },
      "request: has no placeholder {sesion}; choose from {text}, {messages}",
    ],
    [{ runtimeArn, request: { a: "{constructor}" } }, "request: has no placeholder {constructor}"],
    [{ runtimeArn, request: { a: "x".repeat(70_000) } }, "request: must be at most 64 KiB"],
    [{ runtimeArn, answer: "result" }, "answer: must be a path such as $.result"],
    [{ runtimeArn, question: "$.question" }, "resume: and question need each other"],
    [{ runtimeArn, resume: { a: "{reply}" } }, "resume: and question need each other"],
    [
      { runtimeArn, request: { a: "x {conversation}" } },
      "conversation: is needed for the placeholder {conversation}",
    ],
    [{ url: `${url}/{conversation}`, authorizer: bearer }, "conversation: is needed"],
    [{ runtimeArn, conversation: "id" }, "conversation: must be a path such as $.result"],
    [{ url, authorizer: { ...bearer, header: "x key" } }, "header: must be the name of a header"],
    [{ url, authorizer: { ...bearer, header: "Host" } }, "header: must not be a header"],
  ])("refuses %j", (agent, problem) => {
    expect(problems(agent)).toEqual([expect.stringContaining(problem)]);
  });

  it.each<object>([
    { url: "http://127.0.0.1:8080/" },
    { url: `${url}/{session}?s={session}`, authorizer: bearer },
    { url, authorizer: { ...bearer, header: "x-api-key" } },
    { url: `${url}/{conversation}`, authorizer: bearer, conversation: "$.id" },
    { runtimeArn, question: "$.a[0]", resume: { b: ["{reply}"] } },
  ])("accepts %j", (agent) => {
    expect(problems(agent)).toEqual([]);
  });
});

describe("an agent that acts as the person who asked", () => {
  it("needs a host that verifies who asked", () => {
    const authorizer = { type: "token-exchange", tokenUrl: url };
    expect(problems({ url, authorizer })).toEqual([]);
    expect(problemsOf({ execution: { agent: { type: "http", url, authorizer } } })).toEqual([
      expect.stringContaining("execution.agent.authorizer: needs execution.asker"),
    ]);
  });
});

describe("the agent http in a stage", () => {
  const place = { account: "111111111111", region: "eu-central-1" };
  const stage = { verification: place, execution: { kind: "lambda" } };
  const stageProblems = (agent: object) =>
    problemsOf({
      stages: { dev: stage },
      destinations: { home: { transport: "https" } },
      routes: [{ destination: "home" }],
      execution: { agent: { type: "http", ...agent } },
    });
  const sigv4 = (service: string) => ({ type: "sigv4", service, region: "eu-central-1" });

  it.each<[object, string]>([
    [{ url: "http://localhost:8080/" }, "a loopback address reaches nothing on AWS"],
    [{ url, authorizer: sigv4("lambda") }, "authorizer.functionArn: is missing"],
    [{ url, authorizer: sigv4("s3") }, 'must be "lambda" or "execute-api"'],
    [{ url, authorizer: sigv4("execute-api") }, "must have the API's own host"],
  ])("refuses %j", (agent, problem) => {
    expect(stageProblems(agent)).toEqual([expect.stringContaining(problem)]);
  });

  it("refuses a token exchange where the agent never sees the person's token", () => {
    const authorizer = { type: "token-exchange", tokenUrl: url };
    expect(stageProblems({ url, authorizer })).toContainEqual(
      expect.stringContaining('authorizer: must not be "token-exchange" for the stage dev'),
    );
  });

  it.each<object>([
    { runtimeArn },
    { runtimeArn, authorizer: sigv4("bedrock-agentcore") },
    {
      url: "https://abc.execute-api.eu-central-1.amazonaws.com/x",
      authorizer: sigv4("execute-api"),
    },
  ])("accepts %j", (agent) => {
    expect(stageProblems(agent)).toEqual([]);
  });
});

describe("a template", () => {
  it("keeps every value as it is, whatever it contains", () => {
    forAll(fc.jsonValue(), fc.string()).hold((data, text) => {
      const filled = fillTemplate({ a: ["{data}"], b: "<{text}>", c: 1 }, { data, text });
      expect(filled).toEqual({ a: [data], b: `<${text}>`, c: 1 });
    });
  });
});
