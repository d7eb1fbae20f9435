/** The Execution zone on one machine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { startExecutionZone } from "@sekisho/local/execution-zone.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";

const remembersFile = resolve(import.meta.dirname, "../execution/agents/files/remembers.ts");

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

it("accepts local callers where a platform would authenticate them, but no browser page", async () => {
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
  const request = {
    jsonrpc: "2.0",
    id: "1",
    method: "execute_task",
    params: { channel: "C1", text: "hello" },
  };
  const ask = (headers: Record<string, string>) =>
    fetch(url, { method: "POST", headers, body: Buffer.from(JSON.stringify(request)) });
  expect(await (await ask({})).json()).toMatchObject({ result: { status: "success" } });
  expect((await ask({ origin: "https://evil.example" })).status).toBe(401);
});

it("keeps an agent's value over a restart", async () => {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-zone-"));
  closing.push(() => rmSync(directory, { recursive: true }));
  const answers: unknown[] = [];
  for (const text of ["one", "two"]) {
    const { host, close } = await startExecutionZone({
      config: parseConfig({ json: { execution: { agent: remembersFile } } }).execution,
      openEngine: () => openSqliteEngine({ file: join(directory, "execution.db") }),
      directory,
      port: 0,
      log: silentLog,
    });
    const params = { text, session_id: "s-".padEnd(40, "1") };
    const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "execute_task", params });
    const headers = { "content-type": "application/json" };
    const request = new Request("http://127.0.0.1/", { method: "POST", headers, body });
    const response = (await (await host.handle(request)).json()) as Record<string, object>;
    answers.push(response.result);
    await close();
  }
  expect(answers).toEqual([
    expect.objectContaining({ response_text: "before: undefined" }),
    expect.objectContaining({ response_text: "before: one" }),
  ]);
});
