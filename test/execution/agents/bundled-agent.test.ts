/** The agent as a module of its own, as an asset has it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { SekishoError } from "../../../contracts/errors.ts";
import { bundledAgent } from "../../../lambdas/execution/agents/create-agent.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { writeFiles } from "../../../lib/cdk/bundle/asset.ts";
import { bundle } from "../../../lib/cdk/bundle/bundle.ts";
import { agentContext, agentTask } from "./agent-context.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-asset-"));
afterAll(() => rmSync(folder, { recursive: true }));
const dependencies = { config: "echo", region: undefined, readSecret: async () => "" } as const;

it("is loaded when the agent is created, and not before", () => {
  const createAgent = bundledAgent(join(folder, "nowhere"));
  expect(() => createAgent(dependencies)).toThrow(/agent\.cjs/);
});

it("knows the reason of an error of the host, which has another class SekishoError", async () => {
  writeFiles({ ...bundle({ name: "container", config: parseConfig({ json: {} }), configDirectory: "." }), folder });
  const agent = bundledAgent(folder)(dependencies);
  const attachments = [{ id: "F1", name: "a.txt", url: "https://files.example/a", mimetype: "text/plain", size: 1 }];
  const task = agentTask({ channel: "C1", text: "read files", attachments });
  const readAttachment = () => Promise.reject(new SekishoError("permission_denied"));
  const updates = [];
  for await (const update of agent(task, { ...agentContext(), readAttachment })) updates.push(update);
  expect(updates).toEqual([{ type: "answer", text: expect.stringContaining("a.txt: not read (permission_denied)") }]);
});
