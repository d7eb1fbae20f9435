/** The agent as a module of its own, as an asset has it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { SekishoError } from "../../../contracts/errors.ts";
import { createBundledAgent } from "../../../lambdas/execution/agents/create-agent.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { bundle, writeFiles } from "../../../lib/cdk/bundle/bundle.ts";
import { agentContext, agentTask } from "./agent-context.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-asset-"));
afterAll(() => rmSync(folder, { recursive: true }));
const dependencies = { config: "echo", region: undefined, readSecret: async () => "" } as const;

it("is loaded when the agent is created, and not before", () => {
  const createAgent = createBundledAgent(join(folder, "nowhere"));
  expect(() => createAgent(dependencies)).toThrow(/agent\.cjs/);
});

it("knows the reason of an error of the host, which has another class SekishoError", async () => {
  writeFiles({ ...bundle({ name: "container", config: parseConfig({ json: {} }), configDirectory: "." }), folder });
  const agent = createBundledAgent(folder)(dependencies);
  const attachments = [{ id: "F1", name: "a.txt", url: "https://files.example/a", mimetype: "text/plain", size: 1 }];
  const task = agentTask({ channel: "C1", text: "read files", attachments });
  const readAttachment = () => Promise.reject(new SekishoError("permission_denied"));
  const updates = [];
  for await (const update of agent(task, { ...agentContext(), readAttachment })) updates.push(update);
  expect(updates).toEqual([{ type: "answer", text: expect.stringContaining("a.txt: not read (permission_denied)") }]);
});

it("throws an error that the host knows, although the module has another class SekishoError", async () => {
  const source = resolve(import.meta.dirname, "../../../contracts/errors.ts");
  const own = join(folder, "own");
  mkdirSync(own);
  writeFileSync(
    join(own, "throws.ts"),
    `import { SekishoError } from ${JSON.stringify(source)};
     export const agent = async function* () { throw new SekishoError("rate_limited", { details: { retry_after_ms: 7 } }); };`,
  );
  const config = parseConfig({ json: { execution: { agent: "./throws.ts" } } });
  writeFiles({ ...bundle({ name: "container", config, configDirectory: own }), folder: own });
  const agent = createBundledAgent(own)({ ...dependencies, config: "./throws.ts" });
  const updates = agent(agentTask({ channel: "C1", text: "hello" }), agentContext());
  const thrown: unknown = await updates[Symbol.asyncIterator]()
    .next()
    .catch((error: unknown) => error);
  expect(Object.getPrototypeOf(thrown)).not.toBe(SekishoError.prototype);
  expect(thrown).toBeInstanceOf(SekishoError);
  expect(SekishoError.from(thrown)).toBe(thrown);
  expect(thrown).toMatchObject({ reason: "rate_limited", retryable: true, details: { retry_after_ms: 7 } });
});

it.each([null, "SekishoError", { name: "SekishoError", reason: "timeout" }, new Error("SekishoError")])(
  "is not mistaken for one where it throws %p",
  (thrown) => {
    expect(thrown instanceof SekishoError).toBe(false);
    expect(SekishoError.from(thrown)).toMatchObject({ reason: "internal", cause: thrown });
  },
);
