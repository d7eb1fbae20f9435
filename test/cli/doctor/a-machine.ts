/** A machine for one test file: a folder, a Slack whose clock can be wrong, and `sekisho doctor` with its findings. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import type { Finding, Found } from "@sekisho/sekisho/doctor/check.ts";
import { botScopes } from "@sekisho/verification/slack/api/manifest.ts";
import { json, result } from "../../doubles/answers.ts";
import { type Received, startWebServer, type WebServer } from "../../doubles/web-server.ts";
import type { Run } from "../../e2e/processes.ts";
import { commandHere } from "../aws/command-here.ts";

export type Doctored = Run & { ok: boolean; checks: Found[] };

/** Canaries. None of them may be printed. */
export const secrets = {
  SLACK_SIGNING_SECRET: randomBytes(16).toString("hex"),
  SLACK_BOT_TOKEN: `xoxb-${randomBytes(12).toString("hex")}`,
  SLACK_APP_TOKEN: `xapp-1-${randomBytes(12).toString("hex")}`,
  PEER_TOKEN: `peer-${randomBytes(12).toString("hex")}`,
};

/** The scopes that the default configuration needs. */
const allScopes = botScopes(parseConfig({ json: {} }));

export async function startSlack() {
  const scopes = [...allScopes];
  const fakeSlack: FakeSlack = await startFakeSlack({
    signingSecret: secrets.SLACK_SIGNING_SECRET,
    botToken: secrets.SLACK_BOT_TOKEN,
    scopes,
  });
  const slack = {
    apiUrl: "",
    /** How far Slack's clock is ahead. */
    aheadMs: 0,
    /** Answers as a web page instead of as Slack. */
    isPage: false,
    inject: fakeSlack.inject,
    calls: [] as string[],
    grant: (...names: string[]) => void scopes.splice(0, scopes.length, ...names),
    allScopes,
    /** Slack is healthy again. */
    reset() {
      slack.aheadMs = 0;
      slack.isPage = false;
      slack.calls.length = 0;
      slack.grant(...allScopes);
    },
    async close() {
      await front.close();
      await fakeSlack.close();
    },
  };

  async function handle({ request, target, body }: Received): Promise<Response> {
    slack.calls.push(target);
    if (slack.isPage) return new Response("<html>", { headers: { "content-type": "text/html" } });
    const date = new Date(Date.now() + slack.aheadMs).toUTCString();
    const authorization = request.headers.get("authorization") ?? "";
    if (target.endsWith("/apps.connections.open")) {
      const isRight = authorization === `Bearer ${secrets.SLACK_APP_TOKEN}`;
      const url = "wss://127.0.0.1:1/link/?ticket=a-ticket-that-is-as-good-as-a-token";
      return json(isRight ? { ok: true, url } : { ok: false, error: "invalid_auth" }, {
        headers: { date },
      });
    }
    const type = request.headers.get("content-type") ?? "";
    const headers = { authorization, "content-type": type };
    const answered = await fetch(new URL(target, fakeSlack.apiUrl), {
      method: "POST",
      headers,
      body,
    });
    const passed = new Headers({ date, "content-type": "application/json" });
    const scopes = answered.headers.get("x-oauth-scopes");
    if (scopes !== null) passed.set("x-oauth-scopes", scopes);
    return new Response(await answered.text(), { status: answered.status, headers: passed });
  }

  const front = await startWebServer({ handle });
  slack.apiUrl = `${front.url}/api/`;
  return slack;
}

/** A destination that answers rpc.discover. `calls` gets each call's authorization. */
export function startPeer(calls: string[] = []): Promise<WebServer> {
  return startWebServer({
    async handle({ request, body }) {
      const values = request.headers.get("authorization") ?? "";
      calls.push(values);
      if (values !== `Bearer ${secrets.PEER_TOKEN}` && !values.startsWith("AWS4-HMAC"))
        return json({}, { status: 401 });
      const document = { openrpc: "1.3.2", info: { title: "A peer", version: "7" }, methods: [] };
      return result(JSON.parse(Buffer.from(body).toString()), document);
    },
  });
}

export function openMachine() {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-doctor-"));
  const printed: string[] = [];

  async function run(args: string[], env: Record<string, string>): Promise<Run> {
    const cwd = jest.spyOn(process, "cwd").mockReturnValue(folder);
    try {
      const result = await commandHere(["doctor", ...args], env);
      printed.push(result.stdout, result.stderr);
      return result;
    } finally {
      cwd.mockRestore();
    }
  }
  return {
    folder,
    run,
    /** Everything printed so far. */
    printed: () => printed.join(""),
    write: (config: unknown) =>
      writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(config)),
    async doctor(env: Record<string, string> = {}, ...args: string[]): Promise<Doctored> {
      const result = await run(["--json", ...args], env);
      if (result.stdout === "")
        throw new Error(`It printed nothing (${result.code}): ${result.stderr}`);
      return { ...result, ...JSON.parse(result.stdout) };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Formats the check of that name as `status: what → remedy`. */
export function shownText({ checks }: Doctored, name: string): string {
  const expectedText = checks.filter((check) => check.name === name);
  return expectedText
    .map(({ remedy, ...rest }) => formatFinding({ ...rest, remedy: remedy ?? undefined }))
    .join("\n");
}

export function formatFinding({ status, what, remedy }: Finding): string {
  return `${status}: ${what}${remedy === undefined ? "" : ` → ${remedy}`}`;
}
