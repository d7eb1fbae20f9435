import { expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { listExamples } from "@sekisho/local/page/examples.ts";

const prompts = [{ title: "Introduce yourself", message: "Who are you?" }];
const assistant = { assistant: { prompts } };
const far = { transport: "https", url: "http://127.0.0.1:9/" };

it.each([
  ["the echo agent's own words", {}, "What is a sekisho?"],
  [
    "the configured prompts of another agent",
    { execution: { agent: "./agent.ts" }, slack: assistant },
    "Introduce yourself",
  ],
  ["nothing for an agent without prompts", { execution: { agent: "./agent.ts" } }, undefined],
  [
    "nothing for an agent elsewhere",
    { destinations: { far }, routes: [{ destination: "far" }] },
    undefined,
  ],
])("offers %s", (_name, json, title) => {
  expect(listExamples(parseConfig({ json }))[0]?.title).toBe(title);
});
