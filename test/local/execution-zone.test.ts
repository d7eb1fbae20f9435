/** The Execution zone on one machine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { startExecutionZone } from "@sekisho/local/execution-zone.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";

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
