/** The Execution zone on one machine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { Agent } from "../../lambdas/execution/agents/agent.ts";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { openSqliteEngine } from "../../lib/local/engine.ts";
import { showAgentErrors, startExecutionZone } from "../../lib/local/execution-zone.ts";
import { agentContext, agentTask } from "../execution/agents/agent-context.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

it("accepts callers on this machine where a platform would authenticate, but no browser page", async () => {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-zone-"));
  closing.push(() => rmSync(directory, { recursive: true }));
  const { url, close } = await startExecutionZone({
    config: parseConfig({ json: { execution: { authenticator: { type: "platform" } } } }).execution,
    openEngine: () => openSqliteEngine({ file: join(directory, "execution.db") }),
    directory,
    port: 0,
    log: silentLog,
  });
  closing.push(close);
  const request = { jsonrpc: "2.0", id: "1", method: "execute_task", params: { channel: "C1", text: "hello" } };
  const ask = (headers: Record<string, string>) =>
    fetch(url, { method: "POST", headers, body: Buffer.from(JSON.stringify(request)) });
  expect(await (await ask({})).json()).toMatchObject({ result: { status: "success" } });
  expect((await ask({ origin: "https://evil.example" })).status).toBe(401);
});

const throwing: Agent = async function* () {
  yield { type: "progress", text: "so far" };
  throw new Error("no API key");
};

async function runWith(signal: AbortSignal) {
  const shown: string[] = [];
  const context = agentContext(signal);
  const agent = showAgentErrors({ agent: throwing, show: (text) => shown.push(text) });
  const updates: unknown[] = [];
  const ran = (async () => {
    for await (const update of agent(agentTask({ channel: "C1", text: "hello" }), context)) updates.push(update);
  })();
  await expect(ran).rejects.toThrow("no API key");
  return { shown, updates };
}

describe("an agent that throws", () => {
  it("is shown with the stack, and the host still sees the error", async () => {
    const { shown, updates } = await runWith(new AbortController().signal);
    expect(updates).toEqual([{ type: "progress", text: "so far" }]);
    expect(shown[0]).toMatch(/no API key[\s\S]*execution-zone.test.ts/);
  });

  it("is not shown after it was told to stop", async () => {
    expect((await runWith(AbortSignal.abort())).shown).toEqual([]);
  });
});
