/** The installation flow on one machine: anybody may open its page. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { openSlackInstallation } from "@sekisho/local/slack-installation.ts";
import { silentLog } from "@sekisho/runtime/log.ts";

const variable = "TEST_SLACK_INSTALLATION_CLIENT_SECRET";
let server: Server | undefined;
beforeEach(() => {
  process.env[variable] = "0123456789abcdef0123456789abcdef";
});
afterEach(() => {
  server?.close();
  delete process.env[variable];
});

it("reads the client secret once for many requests", async () => {
  const config = parseConfig({
    json: { slack: { install: { clientId: "12.34", clientSecret: { env: variable } } } },
  });
  const { page } = openSlackInstallation({
    config,
    dataFolder: tmpdir(),
    botToken: async () => undefined,
    apiUrl: "http://127.0.0.1:1",
    log: silentLog,
  });
  server = createServer((request, response) => void page(request, response));
  await new Promise<void>((resolve) => server?.listen({ host: "127.0.0.1", port: 0 }, resolve));
  const { port } = server.address() as AddressInfo;
  const install = async () =>
    (await fetch(`http://127.0.0.1:${port}/slack/install`, { redirect: "manual" })).status;
  expect(await install()).toBe(302);
  // A second read would fail.
  delete process.env[variable];
  expect(await install()).toBe(302);
});
