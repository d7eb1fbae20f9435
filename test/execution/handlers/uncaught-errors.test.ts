/** An agent leaves errors that nothing catches, while another person's task runs in the same container. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { eventually } from "../test-host.ts";
import { bundleContainer, type Containers } from "./bundled-container.ts";

const agentFile = join(import.meta.dirname, "../agents/files/leaves-errors.ts");
let containers: Containers;

beforeAll(async () => {
  containers = await bundleContainer({
    config: { execution: { agent: agentFile, syncBudgetMs: 60_000 } },
  });
});

afterAll(async () => {
  await containers.clear();
  containers.remove();
});

it("finishes the tasks of both people and logs each error with its request and source line", async () => {
  const { call, said, child } = await containers.start();
  const careless = randomUUID();
  const answers = await Promise.all([
    call("execute_task", { channel: "C1", text: "steady", user_id: "U0B" }),
    call("execute_task", { channel: "C1", text: "careless", user_id: "U0A" }, { id: careless }),
  ]);
  expect(answers.map(({ result }) => result?.response_text)).toEqual([
    "steady: done",
    "careless: done",
  ]);
  expect(child.exitCode).toBeNull();
  const lines = said()
    .split("\n")
    .filter((line) => line.includes("agent_error_uncaught"));
  const source = readFileSync(agentFile, "utf8").split("\n");
  const lineOf = (text: string) => source.findIndex((each) => each.includes(text)) + 1;
  const ofCareless = { request_id: careless, level: "error" };
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ ...ofCareless, cause_kind: "undefined" }),
    expect.objectContaining({
      ...ofCareless,
      cause_kind: "RangeError",
      source_line: expect.stringMatching(`leaves-errors\\.ts:${lineOf("new RangeError")}:\\d+$`),
    }),
    expect.objectContaining({
      ...ofCareless,
      cause_kind: "TypeError",
      source_line: expect.stringMatching(`leaves-errors\\.ts:${lineOf("new TypeError")}:\\d+$`),
    }),
  ]);
  expect(said()).not.toContain("secret");
});

it("keeps running when a canceled task rejects a promise that nobody awaits", async () => {
  const { call, said, child } = await containers.start();
  const id = randomUUID();
  const running = call("execute_task", { channel: "C1", text: "canceled" }, { id });
  await eventually(
    async () => (await call("get_task", { request_id: id })).result?.progress !== undefined,
  );
  await call("cancel_task", { request_id: id });
  await running;
  await eventually(() => said().includes("error_uncaught"));
  expect((await call("execute_task", { channel: "C1", text: "next" })).result?.response_text).toBe(
    "next: done",
  );
  expect(child.exitCode).toBeNull();
});
