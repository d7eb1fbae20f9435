/** `sekisho doctor` on this machine: a healthy one, and the remedy for each failure. */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import type { Check } from "../../../lib/cli/doctor/check.ts";
import { type ClockSource, clockCheck, destinationClocks } from "../../../lib/cli/doctor/clock.ts";
import { measureSkew, readSkewMs } from "../../../lib/cli/doctor/http.ts";
import { diskCheck, nodeCheck, portCheck } from "../../../lib/cli/doctor/machine-checks.ts";
import { openSqliteEngine } from "../../../lib/local/engine.ts";
import { freePort } from "../../../lib/local/free-port.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { longestLimits } from "../../tooling/hang.ts";
import { commandHere } from "../aws/command-here.ts";
import { openMachine, secrets, startPeer, startSlack, told } from "./a-machine.ts";

let slack: Awaited<ReturnType<typeof startSlack>>;
let peer: WebServer;
let machine: ReturnType<typeof openMachine>;
const ports = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
const { SLACK_SIGNING_SECRET, SLACK_BOT_TOKEN, PEER_TOKEN } = secrets;
const withSlack = { ...ports, SLACK_SIGNING_SECRET, SLACK_BOT_TOKEN };

beforeAll(async () => {
  slack = await startSlack();
  peer = await startPeer();
});

afterAll(async () => {
  await peer.close();
  await slack.close();
});

beforeEach(() => {
  machine = openMachine();
  slack.grant(...slack.allScopes);
  slack.aheadMs = 0;
  slack.isPage = false;
  slack.validates(undefined);
  slack.calls.length = 0;
});

afterEach(() => {
  for (const secret of Object.values(secrets)) expect(machine.printed()).not.toContain(secret);
  machine.close();
});

const far = () => ({
  transport: "https",
  url: `${peer.url}/`,
  authorizer: { type: "bearer", token: { env: "PEER_TOKEN" } },
});

const configured = (config: object = {}) =>
  machine.write({
    slack: { apiUrl: slack.apiUrl },
    limits: longestLimits,
    execution: { syncBudgetMs: 100 },
    ...config,
  });

describe("sekisho doctor in an empty folder", () => {
  it("finds nothing wrong, calls nobody, and leaves nothing behind", async () => {
    const ended = await machine.run([], ports);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(/^sekisho doctor: this machine, /);
    expect(ended.stdout).toContain("sekisho start uses the fake Slack");
    expect(ended.stdout).toMatch(/Nothing failed: \d+ ok, 0 warnings, 0 failed, \d+ skipped\.\n$/);
    expect(readdirSync(machine.folder)).toEqual([]);
    expect(slack.calls).toEqual([]);
  });
});

describe("sekisho doctor where Slack and a destination are configured", () => {
  it("passes the token, its scopes, the entry, the signing secret, the destination and the clock", async () => {
    const allowlist = [{ team: "TSTANDIN" }];
    configured({ destinations: { far: far() }, routes: [{ destination: "far" }], allowlist });
    const found = await machine.doctor({ ...withSlack, ...secrets });
    expect(found.checks.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(found).toMatchObject({ code: 0, ok: true, stderr: "" });
    expect(told(found, "bot token")).toBe("ok: @sekisho in Fake Slack (TSTANDIN).");
    expect(told(found, "signing secret")).toContain(
      "accepts a request that is signed with SLACK_SIGNING_SECRET, unless it is old",
    );
    expect(told(found, "blocks of messages")).toMatch(
      /^ok: Slack accepts all 11 kinds of messages and views\.$/,
    );
    expect(told(found, "far")).toMatch(/^ok: A peer 7 \(\d+ ms\)$/);
    expect(told(found, "clock")).toMatch(/^ok: At most \d+ s from Slack/);
    expect(machine.printed()).not.toContain("as-good-as-a-token");
  });

  it("prints the findings for a person", async () => {
    configured({ destinations: { far: far() }, routes: [{ destination: "far" }] });
    const ended = await machine.run([], { ...withSlack, PEER_TOKEN: "another" });
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(
      / ✗ far +It could not authenticate the caller\.\n +→ Check that the token or secret/,
    );
    expect(ended.stdout).toContain(" – app token");
  });
});

describe("sekisho doctor explains what is wrong with the configuration", () => {
  it("every problem of a file that cannot be used, and runs the checks that it still can", async () => {
    machine.write({ routes: [{ destination: "nowhere" }], limits: { concurrency: 0 } });
    const found = await machine.doctor(ports);
    expect(found).toMatchObject({ code: 1, ok: false });
    expect(told(found, "configuration")).toMatch(/^failed: .*nowhere.* → .*sekisho config check/);
    expect(told(found, "Node")).toMatch(/^ok/);
    expect(told(found, "other checks")).toMatch(/^skipped/);
  });

  it("an environment that cannot be used", async () => {
    expect(told(await machine.doctor({ SEKISHO_PORT: "many" }), "configuration")).toContain(
      "SEKISHO_PORT: must be a port number",
    );
  });

  it.each([
    [{ execution: { agent: "./agent.ts" } }, /^failed: .*agent\.ts does not exist\. → /],
    [{ routes: [] }, /^warning: There is no route.* → Add one/],
  ])("%j", async (config, words) => {
    machine.write(config);
    expect(told(await machine.doctor(ports), "configuration")).toMatch(words);
  });

  it("secrets that are not set, by name", async () => {
    configured({ destinations: { far: far() }, routes: [{ destination: "far" }] });
    const found = await machine.doctor({ ...ports, SLACK_BOT_TOKEN });
    expect(told(found, "secrets")).toMatch(
      /^failed: SLACK_SIGNING_SECRET is not set here\. PEER_TOKEN is not set here\. → Set each variable/,
    );
    expect(told(found, "signing secret")).toBe("skipped: SLACK_SIGNING_SECRET is not set here.");
    expect(told(found, "far")).toMatch(/^failed: Its secret PEER_TOKEN cannot be read\. → /);
  });

  it("a stage that the file does not have is bad usage, unless the file cannot be used at all", async () => {
    expect(await machine.run(["--stage", "prod"], ports)).toMatchObject({ code: 2, stdout: "" });
    machine.write({ routes: 7 });
    expect(await machine.run(["--stage", "prod"], ports)).toMatchObject({ code: 1 });
  });
});

describe("sekisho doctor explains about Slack", () => {
  it("scopes that the message shortcut needs", async () => {
    configured({ slack: { apiUrl: slack.apiUrl, shortcut: {} } });
    slack.grant(...slack.allScopes);
    const found = await machine.doctor(withSlack);
    expect(told(found, "token scopes")).toMatch(
      /^failed: Missing: channels:read, commands, groups:read, im:read, mpim:read\./,
    );
  });

  it("scopes without which agents get ids in place of names", async () => {
    configured({ slack: { apiUrl: slack.apiUrl, locale: "en", context: { groups: true } } });
    slack.grant(...slack.allScopes.filter((scope) => scope !== "users:read"));
    const found = await machine.doctor(withSlack);
    expect(told(found, "token scopes")).toMatch(
      /^warning: Missing: users:read, usergroups:read\. Agents get ids/,
    );
    expect(found.code).toBe(0);
  });

  it("scopes that the token lacks for this configuration", async () => {
    configured({ slack: { apiUrl: slack.apiUrl, command: { name: "/sekisho" } } });
    slack.grant(...slack.allScopes.filter((scope) => scope !== "files:write"));
    const found = await machine.doctor(withSlack);
    expect(told(found, "token scopes")).toMatch(
      /^failed: Missing: commands, files:write, im:write\. → .*npx --no-install sekisho manifest.*reinstall the app/,
    );
    expect(found.code).toBe(1);
  });

  it("blocks that Slack refuses, and where, as Slack says it", async () => {
    configured();
    slack.validates(({ kind }) =>
      kind === "view"
        ? {
            ok: false,
            error: "invalid_view",
            errors: [{ pointer: "/blocks/0/text", code: "failed_constraint" }],
          }
        : { ok: true },
    );
    const found = await machine.doctor(withSlack);
    expect(told(found, "blocks of messages")).toMatch(
      /^failed: Slack refuses: the App Home \(invalid_view at \/blocks\/0\/text: failed_constraint\)\. → Please report it/,
    );
    expect(found.code).toBe(1);
  });

  it.each([
    ["the method is unknown", { error: "unknown_method" }, /^skipped: .*not checked\.$/],
    [
      "it asks for fewer calls",
      { error: "ratelimited" },
      /^warning: .*0 of \d+ samples.* → Try again in a minute/,
    ],
  ])("nothing of blocks where %s", async (_what, answer, words) => {
    configured();
    slack.validates(() => ({ ok: false, ...answer }));
    const found = await machine.doctor(withSlack);
    expect(told(found, "blocks of messages")).toMatch(words);
    expect(found.code).toBe(0);
  });

  it.each([
    [
      "invalid_auth",
      /^failed: Slack does not accept SLACK_BOT_TOKEN \(invalid_auth\)\. → Slack does not know it.*OAuth/,
    ],
    ["token_revoked", /^failed: .* → It was revoked/],
    ["account_inactive", /^failed: .* → The app was removed/],
  ])("a bot token that Slack refuses (%s), and skips what depends on it", async (error, words) => {
    configured();
    slack.inject({ method: "auth.test", type: "error", error });
    const found = await machine.doctor(withSlack);
    expect(told(found, "bot token")).toMatch(words);
    expect(told(found, "token scopes")).toMatch(/^skipped/);
    // The clock is read without a token.
    expect(slack.calls).toEqual(["/api/auth.test", "/api/"]);
  });

  it("too many calls, which is not a failure", async () => {
    configured();
    slack.inject({ method: "auth.test", type: "rate_limited", retryAfterSeconds: 3 });
    const found = await machine.doctor(withSlack);
    expect(told(found, "bot token")).toMatch(/^warning: .*ratelimited.* → .*Try again in a minute/);
    expect(found.code).toBe(0);
  });

  it("a secret that is not a token, which is sent nowhere", async () => {
    configured();
    const env = {
      ...withSlack,
      SLACK_BOT_TOKEN: PEER_TOKEN,
      SLACK_APP_TOKEN: SLACK_SIGNING_SECRET,
    };
    const found = await machine.doctor(env);
    expect(told(found, "bot token")).toMatch(
      /^failed: SLACK_BOT_TOKEN is not a bot token.* → .*xoxb-/,
    );
    expect(told(found, "app token")).toMatch(
      /^failed: SLACK_APP_TOKEN is not an app token.* → .*xapp-/,
    );
    expect(slack.calls).toEqual([]);
  });

  it("an app token that Slack refuses", async () => {
    configured();
    const found = await machine.doctor({ ...withSlack, SLACK_APP_TOKEN: "xapp-1-another" });
    expect(told(found, "app token")).toMatch(
      /^failed: .*SLACK_APP_TOKEN \(invalid_auth\)\. → .*connections:write/,
    );
  });

  it("an address that is not Slack's", async () => {
    configured();
    slack.isPage = true;
    const found = await machine.doctor({ ...withSlack, SLACK_APP_TOKEN: secrets.SLACK_APP_TOKEN });
    for (const name of ["bot token", "app token"]) {
      expect(told(found, name)).toMatch(
        /^failed: Slack cannot be reached at http:.* → .*slack\.apiUrl/,
      );
    }
    machine.write({ slack: { apiUrl: `http://127.0.0.1:${await freePort()}/api/` } });
    expect(told(await machine.doctor(withSlack), "bot token")).toMatch(
      /^failed: Slack cannot be reached/,
    );
  });

  it("a clock that differs from Slack's", async () => {
    configured();
    slack.aheadMs = 400_000;
    const found = await machine.doctor(withSlack);
    expect(told(found, "clock")).toMatch(
      /^failed: It is (399|400|401) s behind Slack\. .* → Set this machine's clock/,
    );
    slack.aheadMs = -100_000;
    expect(told(await machine.doctor(withSlack), "clock")).toMatch(
      /^warning: It is \d+ s ahead of Slack/,
    );
  });

  it("that no bot token is needed where workspaces get theirs by the installation flow", async () => {
    const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
    configured({ slack: { apiUrl: slack.apiUrl, install } });
    const found = await machine.doctor({ ...ports, SLACK_SIGNING_SECRET });
    expect(told(found, "bot token")).toMatch(/^skipped: .*tokens of their own at \/slack\/install/);
    expect(told(found, "secrets")).toMatch(/^failed: SLACK_CLIENT_SECRET is not set here\. →/);
  });

  it("a workspace in which nobody may ask", async () => {
    configured();
    expect(told(await machine.doctor(withSlack), "who may ask")).toMatch(
      /^warning: Nobody.* → Run npx --no-install sekisho allow add --team/,
    );
    const words = [
      "add",
      "--team",
      "T1",
      "--store",
      join(machine.folder, ".sekisho", "verification.db"),
    ];
    await openSqliteEngine({ file: join(machine.folder, ".sekisho", "verification.db") }).close();
    expect((await commandHere(["allow", ...words], {})).code).toBe(0);
    expect(told(await machine.doctor(withSlack), "who may ask")).toBe(
      "ok: 0 rules in the configuration, 1 added by sekisho allow.",
    );
  });

  it("a stored rule that names no workspace where several may install the app", async () => {
    configured();
    const file = join(machine.folder, ".sekisho", "verification.db");
    await openSqliteEngine({ file }).close();
    expect((await commandHere(["allow", "add", "--user", "U7", "--store", file], {})).code).toBe(0);
    configured({
      slack: { install: { clientId: "1.2", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    });
    expect(told(await machine.doctor(withSlack), "who may ask")).toMatch(
      /^warning: 1 of \d rules .* names no workspace and let.* nobody in.* → Run .*allow list/,
    );
  });

  it("a signing secret that no app has", async () => {
    configured();
    const found = await machine.doctor({ ...withSlack, SLACK_SIGNING_SECRET: "changeme" });
    expect(told(found, "signing secret")).toMatch(
      /^warning: .*32 hexadecimal digits.* → .*"App Credentials"/,
    );
  });
});

describe("sekisho doctor explains about the stored data", () => {
  it("a file that is not a database", async () => {
    const folder = join(machine.folder, ".sekisho");
    mkdirSync(folder);
    writeFileSync(
      join(folder, "verification.db"),
      "this is no database, however long it may be ".repeat(40),
    );
    const found = await machine.doctor(ports);
    expect(told(found, "store verification.db")).toMatch(
      /^failed: .*is not a database.* → Restore it/,
    );
    expect(told(found, "queue verification.db")).toMatch(/^failed/);
  });

  it("a file that another program has locked", async () => {
    const file = join(machine.folder, ".sekisho", "verification.db");
    await openSqliteEngine({ file }).close();
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    const found = await machine.doctor(ports);
    other.close();
    expect(told(found, "queue verification.db")).toMatch(
      /^failed: .*is locked by another program\. → Close what has it/,
    );
  });

  it("a file with a damaged page", async () => {
    const file = join(machine.folder, ".sekisho", "verification.db");
    await openSqliteEngine({ file }).close();
    const handle = openSync(file, "r+");
    for (let at = 4096; at < statSync(file).size; at += 4096)
      writeSync(handle, Buffer.alloc(4096, 0x7f), 0, 4096, at);
    closeSync(handle);
    const found = await machine.doctor(ports);
    expect(told(found, "store verification.db")).toMatch(/^failed: .*damaged\. → /);
    expect(told(found, "queue verification.db")).toMatch(
      /^failed: .*damaged\. → Restore it from a copy/,
    );
    const traced = await commandHere(["trace", "a66468cb", "--store", file], {});
    expect(traced).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The task file .*damaged\. Restore/),
    });
    expect(traced.stderr).not.toContain("log lines");
  });

  it("and does not disturb a zone: its messages stay, and none is added", async () => {
    const engine = openSqliteEngine({ file: join(machine.folder, ".sekisho", "verification.db") });
    const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
    await queue.send({ body: "of a task" });
    expect(told(await machine.doctor(ports), "queue verification.db")).toBe(
      "ok: A message was sent, received and finished.",
    );
    const messages = await queue.receive({ max: 10, visibilityTimeoutMs: 1000, waitMs: 0 });
    expect(messages.map(({ body, receiveCount }) => [body, receiveCount])).toEqual([
      ["of a task", 1],
    ]);
    await engine.close();
    expect(
      readdirSync(join(machine.folder, ".sekisho")).filter(
        (name) => !name.startsWith("verification"),
      ),
    ).toEqual([]);
  });
});

describe("sekisho doctor explains about ports", () => {
  it("a port on which another program listens", async () => {
    const other = createServer((_request, response) => void response.end("hello"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const found = await machine.doctor({ SEKISHO_PORT: String(port), SEKISHO_EXECUTION_PORT: "0" });
    other.closeAllConnections();
    other.close();
    expect(told(found, `port ${port}`)).toMatch(
      /^failed: .*than the Verification zone.* → .*SEKISHO_PORT/,
    );
  });
});

const { signal } = new AbortController();
const folder = folderOfFile();

async function say(check: Check): Promise<string> {
  const found = await check.run(signal);
  return `${found.status}: ${found.what}${"remedy" in found ? ` → ${found.remedy}` : ""}`;
}

describe("the clock", () => {
  const from = (who: string, skewMs: number | undefined): ClockSource => ({
    who,
    skewMs: async () => skewMs,
  });
  const slack = (skewMs: number) => from("Slack", skewMs);
  const far = (skewMs: number) => from("destination far", skewMs);

  it.each([
    [[slack(60_000)], [], /^ok: At most 60 s from Slack/],
    [[slack(-60_001)], [], /^warning: It is 60 s behind Slack.* → Set this machine's clock/],
    [[slack(300_000)], [], /^failed: It is 300 s ahead of Slack.* → Set this machine's clock/],
    [
      [slack(1000)],
      [far(400_000)],
      /^failed: .* destination far.* → Set the clock of destination far/,
    ],
    [[slack(400_000)], [far(400_100)], /^failed: .* → Set this machine's clock/],
    [[], [far(-90_000)], /^warning: .* → Set this machine's clock/],
    [[], [], /^skipped/],
  ])("%#", async (trusted, others, words) => {
    expect(await say(clockCheck({ trusted, others }))).toMatch(words);
  });

  it("ignores sources that do not answer", async () => {
    const broken: ClockSource = { who: "Slack", skewMs: () => Promise.reject(new Error("no")) };
    expect(
      await say(clockCheck({ trusted: [broken, from("the entry", undefined)], others: [far(0)] })),
    ).toMatch(/^ok/);
  });

  it("is read from a date to the second, however long the request takes", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.nat({ max: 5000 }),
        fc.nat({ max: 5000 }),
        (ahead, out, back) => {
          const sentAtMs = 1_800_000_000_123;
          const date = new Date(sentAtMs + out - ahead).toUTCString();
          const skewMs =
            readSkewMs(date, { sentAtMs, receivedAtMs: sentAtMs + out + back }) ?? Number.NaN;
          expect(Math.abs(skewMs - ahead)).toBeLessThanOrEqual(501 + Math.abs(out - back) / 2);
        },
      ),
    );
    expect(readSkewMs("yesterday", { sentAtMs: 0, receivedAtMs: 0 })).toBeUndefined();
    expect(readSkewMs(null, { sentAtMs: 0, receivedAtMs: 0 })).toBeUndefined();
  });

  it("is read from a destination even where it refuses us, but not from one on this machine", async () => {
    const date = new Date(Date.now() + 200_000).toUTCString();
    const peer = await startWebServer({
      handle: async () => new Response(null, { status: 401, headers: { date } }),
    });
    const skewMs = await measureSkew({ url: peer.url, signal });
    await peer.close();
    expect(Math.round((skewMs ?? 0) / 10_000)).toBe(-20);
    expect(await measureSkew({ url: peer.url, signal })).toBeUndefined();
    const destinations = {
      here: { transport: "https", url: "http://127.0.0.1:9/" },
      far: {
        transport: "https",
        url: "https://far.example/rpc",
        authorizer: { type: "sigv4", service: "lambda", region: "eu-west-1" },
      },
    };
    const config = parseConfig({ json: { destinations, routes: [] } });
    expect(destinationClocks(config, signal).map(({ who }) => who)).toEqual(["destination far"]);
  });
});

describe("Node", () => {
  it.each([
    ["20.19.0", /^failed: .*22\.19 is needed\. → Install Node 24/],
    ["22.18.9", /^failed/],
    ["22.19.0", /^ok: 22\.19\.0$/],
    ["23.11.0", /^warning: .* → Install Node 24/],
    ["24.21.0", /^ok/],
  ])("%s", async (version, words) => {
    expect(await say(nodeCheck({ version }))).toMatch(words);
  });
});

describe("the disk", () => {
  const mebibytes = (count: number) => async () => count * 1024 * 1024;

  it.each([
    [63, /^failed: .*63 MiB are free\. → Free some disk/],
    [64, /^warning/],
    [1024, /^ok/],
  ])("%d MiB", async (count, words) => {
    expect(await say(diskCheck({ folder, readFreeBytes: mebibytes(count) }))).toMatch(words);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reports a folder that cannot be written", async () => {
    const nowhere = join(folder, "nothing");
    expect(await say(diskCheck({ folder: nowhere }))).toMatch(
      /^failed: .* cannot be written \(ENOENT\)\. → Give write access/,
    );
  });
});

describe("a port", () => {
  it("may be forbidden", async () => {
    const check = portCheck({
      zone: "Execution",
      port: 80,
      variable: "SEKISHO_EXECUTION_PORT",
      use: async () => "forbidden",
    });
    expect(await say(check)).toMatch(/^failed: .* → .*SEKISHO_EXECUTION_PORT/);
  });
});
