/** What a browser reads at the addresses of the zones, and the error of a port that one of them holds. */
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { createLanding, namePortHolder } from "@sekisho/local/landing.ts";
import { startListening } from "@sekisho/runtime/http/server.ts";
import { commandsInFolder } from "../cli/commands-in-folder.ts";
import { afterTest, folderOfTest } from "../tooling/cleanup.ts";

const { start, run } = commandsInFolder();
const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

function urlsIn(output: string): { verification: string; execution: string } {
  const find = (name: string) => new RegExp(`${name} zone: +(\\S+)`).exec(output)?.[1] ?? "";
  return { verification: find("Verification"), execution: find("Execution") };
}

it("answers a browser at both zones with a sentence and a link, and other clients as before", async () => {
  const both = start(["start"], { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" });
  await both.prints("Ctrl-C stops everything");
  const { verification, execution } = urlsIn(both.output());
  for (const [url, link] of [
    [verification, execution],
    [execution, `${verification}/`],
  ] as const) {
    const visit = await fetch(url, { headers: html });
    expect(visit.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await visit.text()).toContain(`<a href="${link}">`);
  }
  const statuses = [verification, execution].map(async (url) => (await fetch(url)).status);
  expect(await Promise.all(statuses)).toEqual([401, 405]);
  const [address = ""] = /http\S+\?token=\S+/.exec(both.output()) ?? [];
  const entry = await fetch(address, { headers: html, redirect: "manual" });
  const cookie = entry.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const page = await fetch(verification, { headers: { ...html, cookie } });
  expect(await page.text()).toContain("<script");

  const takenPort = { SEKISHO_EXECUTION_PORT: new URL(execution).port };
  const alone = await run(["execution", "--store", join(folderOfTest(), "other.db")], takenPort);
  expect(alone).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("in use by the Execution zone of sekisho start."),
  });
  expect((await both.kill("SIGTERM")).code).toBe(0);
});

it("links to the agent card at an Execution zone without a Verification zone beside it", async () => {
  const execution = start(["execution", "--port", "0"]);
  await execution.prints("A2A agent card");
  const url = urlsIn(execution.output()).execution;
  const text = await (await fetch(url, { headers: html })).text();
  const [, path = ""] = /<a href="([^"]+)"/.exec(text) ?? [];
  expect(await (await fetch(new URL(path, url))).json()).toHaveProperty("skills");
  await execution.kill("SIGTERM");
});

/** Tries to listen on the port of a server that answers like this, and returns the message of the error. */
async function messageAt(zone: string | undefined): Promise<string> {
  const holder = createServer((_request, response) => {
    if (zone !== undefined) response.writeHead(200, { "x-sekisho-zone": zone }).end();
    else response.socket?.destroy();
  });
  const listener = { hostname: "127.0.0.1", portSetting: "SEKISHO_PORT" };
  const port = await startListening({ server: holder, port: 0, ...listener });
  afterTest(() => holder.close());
  const listening = startListening({ server: createServer(), port, ...listener });
  const ports = { port, portSetting: "SEKISHO_PORT" };
  return namePortHolder(listening, ports).then(String, (error: Error) => error.message);
}

it.each([undefined, "Execution zone of <b>nobody</b>"])(
  "names no holder of a port that says %j about itself",
  async (zone) => {
    const message = await messageAt(zone);
    expect(message).toMatch(/^Port \d+ on 127\.0\.0\.1 is already in use\./);
    expect(message).toContain("SEKISHO_PORT");
    expect(message).not.toContain("nobody");
  },
);

it("names the zone that holds a port", async () => {
  const message = await messageAt("Verification zone of sekisho start");
  expect(message).toMatch(/by the Verification zone of sekisho start\..*SEKISHO_PORT/);
});

it.each([
  ["POST", "/", "text/html"],
  ["GET", "/?token=1", "text/html"],
  ["GET", "/", "application/json"],
])("leaves %s %s for %s to others", (method, url, accept) => {
  const landing = createLanding(() => {
    throw new Error("not asked for");
  });
  const request = { method, url, headers: { accept } };
  expect(landing(request as never, {} as never)).toBe(false);
});
