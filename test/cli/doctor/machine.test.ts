/** `sekisho doctor` on this machine: a healthy one, and the remedy for each problem. */
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
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { checkDisk, checkNode, checkPort } from "@sekisho/sekisho/doctor/machine.ts";
import type { WebServer } from "../../doubles/web-server.ts";
import { longestLimits } from "../../tooling/hang.ts";
import { commandHere } from "../aws/command-here.ts";
import {
  formatFinding,
  openMachine,
  secrets,
  shownText,
  startPeer,
  startSlack,
} from "./a-machine.ts";

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
  slack.reset();
});
afterEach(() => {
  for (const secret of Object.values(secrets)) expect(machine.printed()).not.toContain(secret);
  machine.close();
});

const toPeer = () => {
  const authorizer = { type: "bearer", token: { env: "PEER_TOKEN" } };
  const far = { transport: "https", url: `${peer.url}/`, authorizer };
  return { destinations: { far }, routes: [{ destination: "far" }] };
};

function configure({
  slack: more = {},
  ...config
}: { slack?: object } & Record<string, unknown> = {}) {
  machine.write({
    slack: { apiUrl: slack.apiUrl, ...more },
    limits: longestLimits,
    execution: { syncBudgetMs: 100 },
    ...config,
  });
}

describe("sekisho doctor", () => {
  it("reports no failure in an empty folder, calls nothing, and leaves no files behind", async () => {
    const result = await machine.run([], ports);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout).toMatch(/^sekisho doctor: this machine, /);
    expect(result.stdout).toMatch(/Nothing failed: \d+ ok, 0 warnings, 0 failed, \d+ skipped\.\n$/);
    expect(readdirSync(machine.folder)).toEqual([]);
    expect(slack.calls).toEqual([]);
  });

  it("passes the token, its scopes, the entry, the signing secret, the destination and the clock", async () => {
    configure({ ...toPeer(), allowlist: [{ team: "TSTANDIN" }] });
    const report = await machine.doctor({ ...withSlack, ...secrets });
    const others = report.checks.filter(({ status }) => status !== "ok");
    expect(others.map(({ name }) => name)).toEqual([
      "AWS credentials",
      "Verification port",
      "Execution port",
      "entry",
      "signing secret",
    ]);
    expect(report).toMatchObject({ code: 0, ok: true, stderr: "" });
    for (const [name, pattern] of Object.entries({
      "bot token": /^ok: @sekisho in Fake Slack \(TSTANDIN\)\.$/,
      entry: /^skipped: No Verification zone is running here\. .*sekisho start/,
      far: /^ok: A peer 7 \(http:.*, first call \d+ ms, second \d+ ms\)\.$/,
      clock: /^ok: At most \d+ s from Slack/,
    }))
      expect(shownText(report, name)).toMatch(pattern);
    expect(machine.printed()).not.toContain("as-good-as-a-token");
  });

  it("prints the findings for a person", async () => {
    configure(toPeer());
    const result = await machine.run([], { ...withSlack, PEER_TOKEN: "another" });
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(
      / ✗ far +It could not authenticate the caller .*\n +→ Check that the token or secret/,
    );
    expect(result.stdout).toContain(" – app token");
  });

  it("runs the checks that need no configuration if the file is invalid", async () => {
    machine.write({ routes: [{ destination: "nowhere" }], limits: { concurrency: 0 } });
    const report = await machine.doctor({ ...ports }, "--stage", "prod");
    expect(report).toMatchObject({ code: 1, ok: false });
    expect(shownText(report, "configuration")).toMatch(
      /^failed: .*nowhere.* → .*sekisho config check/,
    );
    expect(shownText(report, "Node")).toMatch(/^ok/);
    expect(shownText(report, "other checks")).toMatch(/^skipped/);
    expect(await machine.run(["--destination", "far"], ports)).toMatchObject({ code: 2 });
  });

  it("exits with 2 for an unknown stage", async () => {
    expect(await machine.run(["--stage", "prod"], ports)).toMatchObject({ code: 2, stdout: "" });
  });
});

type Problem = {
  config?: Parameters<typeof configure>[0];
  env?: Record<string, string>;
  slack?: () => void;
  /** By the name of the check. */
  found: Record<string, RegExp>;
};

const refuse = (error: string) => slack.inject({ method: "auth.test", type: "error", error });
const installed = { install: { clientId: "1.2", clientSecret: { env: "SLACK_CLIENT_SECRET" } } };
const without = (scope: string) => slack.allScopes.filter((name) => name !== scope);

const problems: Record<string, Problem> = {
  "an environment that cannot be used": {
    env: { SEKISHO_PORT: "many" },
    found: { configuration: /SEKISHO_PORT: must be a port number/ },
  },
  "an agent's file that is missing": {
    config: { execution: { agent: "./agent.ts" } },
    found: { configuration: /^failed: .*agent\.ts does not exist\. → Correct the path/ },
  },
  "a configuration without a route": {
    config: { routes: [] },
    found: { configuration: /^warning: There is no route.* → Add one/ },
  },
  "secrets that are not set, by name": {
    config: {
      destinations: {
        far: {
          transport: "https",
          url: "https://far.example/",
          authorizer: { type: "bearer", token: { env: "PEER_TOKEN" } },
        },
      },
      routes: [{ destination: "far" }],
    },
    env: { ...ports, SLACK_BOT_TOKEN },
    found: {
      secrets: /^failed: SLACK_SIGNING_SECRET is not set.* PEER_TOKEN is not set.* → Set each/,
      "signing secret": /^skipped: SLACK_SIGNING_SECRET is not set here\.$/,
      far: /^failed: Its secret PEER_TOKEN cannot be read .* → /,
    },
  },
  "scopes that the message shortcut needs": {
    config: { slack: { shortcut: {} } },
    found: {
      "token scopes":
        /^failed: Missing: channels:read, commands, groups:read, im:read, mpim:read\./,
    },
  },
  "scopes without which agents get ids in place of names": {
    config: { slack: { locale: "en", context: { groups: true } } },
    slack: () => slack.grant(...without("users:read")),
    found: { "token scopes": /^warning: Missing: users:read, usergroups:read\. Agents get ids/ },
  },
  "scopes without which tokens have no e-mail addresses": {
    config: {
      asker: { issuer: "https://asker.example" },
      destinations: { local: { transport: "https", asker: { claims: ["email"] } } },
      routes: [{ destination: "local" }],
    },
    slack: () => slack.grant(...without("users:read.email")),
    found: {
      "token scopes": /^warning: Missing: users:read\.email\. Destinations get no e-mail addresses/,
    },
  },
  "scopes that the token lacks": {
    config: { slack: { command: { name: "/sekisho" } } },
    slack: () => slack.grant(...without("files:write")),
    found: {
      "token scopes":
        /^failed: Missing: commands, files:write, im:write\. → .*sekisho manifest.*reinstall/,
    },
  },
  "an app that is needlessly declared as an agent": {
    slack: () => slack.grant(...slack.allScopes, "assistant:write"),
    found: { "token scopes": /^warning: .*declared as an agent.* → Set slack\.assistant/ },
  },
  "a bot token that Slack does not know": {
    slack: () => refuse("invalid_auth"),
    found: {
      "bot token": /^failed: Slack does not accept SLACK_BOT_TOKEN \(invalid_auth\)\. → .*OAuth/,
      "token scopes": /^skipped/,
    },
  },
  "a bot token that was revoked": {
    slack: () => refuse("token_revoked"),
    found: { "bot token": /^failed: .* → It was revoked/ },
  },
  "too many calls": {
    slack: () => slack.inject({ method: "auth.test", type: "rate_limited", retryAfterSeconds: 3 }),
    found: { "bot token": /^warning: .*ratelimited.* → .*Try again in a minute/ },
  },
  "a secret that is not a token": {
    env: { ...withSlack, SLACK_BOT_TOKEN: PEER_TOKEN, SLACK_APP_TOKEN: SLACK_SIGNING_SECRET },
    found: {
      "bot token": /^failed: SLACK_BOT_TOKEN is not a bot token.* → .*xoxb-/,
      "app token": /^failed: SLACK_APP_TOKEN is not an app token.*32 hexadecimal.* → .*xapp-/,
    },
  },
  "the placeholder of an example": {
    env: { ...withSlack, SLACK_BOT_TOKEN: "xoxb-…", SLACK_APP_TOKEN: "xapp-your-token" },
    found: {
      "bot token": /^failed: SLACK_BOT_TOKEN is still the placeholder/,
      "app token": /^failed: SLACK_APP_TOKEN is still the placeholder/,
    },
  },
  "an app token that Slack refuses": {
    env: { ...withSlack, SLACK_APP_TOKEN: "xapp-1-another" },
    found: { "app token": /^failed: .*SLACK_APP_TOKEN \(invalid_auth\)\. → .*connections:write/ },
  },
  "an address that is not Slack's": {
    env: { ...withSlack, SLACK_APP_TOKEN: secrets.SLACK_APP_TOKEN },
    slack: () => {
      slack.isPage = true;
    },
    found: {
      "bot token": /^failed: Slack cannot be reached at http:.* → .*slack\.apiUrl/,
      "app token": /^failed: Slack cannot be reached at http:.* → .*slack\.apiUrl/,
    },
  },
  "a clock that differs from Slack's": {
    slack: () => {
      slack.aheadMs = 400_000;
    },
    found: { clock: /^failed: It is (399|400|401) s behind Slack\. .* → Set this machine's clock/ },
  },
  "no bot token where workspaces get theirs by the installation flow": {
    config: { slack: installed },
    env: { ...ports, SLACK_SIGNING_SECRET },
    found: {
      "bot token": /^skipped: .*tokens of their own at \/slack\/install/,
      secrets: /^failed: SLACK_CLIENT_SECRET is not set here\. →/,
    },
  },
  "a workspace in which nobody has access": {
    found: { "who may ask": /^warning: Nobody.* → Run npx --no-install sekisho allow add --team/ },
  },
  "a signing secret that no app has": {
    env: { ...withSlack, SLACK_SIGNING_SECRET: "changeme" },
    found: { "signing secret": /^warning: .*32 hexadecimal digits.* → .*"App Credentials"/ },
  },
};

describe("the explanations of sekisho doctor", () => {
  it.each(Object.entries(problems))(
    "explains %s",
    async (_title, { config, env, slack: change, found: results }) => {
      configure(config);
      change?.();
      const doctorReport = await machine.doctor(env ?? withSlack);
      for (const [name, pattern] of Object.entries(results))
        expect(shownText(doctorReport, name)).toMatch(pattern);
      expect(doctorReport.code).toBe(
        doctorReport.checks.some(({ status }) => status === "failed") ? 1 : 0,
      );
    },
  );

  it("explains a malformed token without sending it anywhere", async () => {
    configure();
    await machine.doctor({ ...withSlack, SLACK_BOT_TOKEN: PEER_TOKEN });
    expect(slack.calls).toEqual([]);
  });

  it("explains rules of sekisho allow that allow nobody", async () => {
    configure();
    const file = join(machine.folder, ".sekisho", "verification.db");
    await openSqliteEngine({ file }).close();
    expect((await commandHere(["allow", "add", "--user", "U7", "--store", file], {})).code).toBe(0);
    expect(shownText(await machine.doctor(withSlack), "who may ask")).toBe(
      "ok: 0 rules in the configuration, 1 added by sekisho allow.",
    );
    configure({ slack: installed });
    expect(shownText(await machine.doctor(withSlack), "who may ask")).toMatch(
      /^warning: 1 of 1 rules .* names no workspace and let.* nobody in.* → Run .*allow list/,
    );
  });

  it("explains a port on which another program listens", async () => {
    const other = createServer((_request, response) => void response.end("hello"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const report = await machine.doctor({ ...ports, SEKISHO_PORT: String(port) });
    other.closeAllConnections();
    other.close();
    expect(shownText(report, "Verification port")).toMatch(
      /^failed: .*than the Verification zone.* → .*SEKISHO_PORT/,
    );
    const environment = { port: 80, executionPort: 80 } as never;
    const use = async () => "forbidden" as const;
    const target = { environment, portUse: { Verification: use, Execution: use } };
    expect(formatFinding(await checkPort("Execution", target))).toMatch(
      /^failed: .* at 80\. → .*SEKISHO_EXECUTION_PORT/,
    );
  });

  it.each([
    ["20.19.0", /^failed: .*22\.19 is needed\.$/],
    ["22.18.9", /^failed/],
    ["22.19.0", /^ok: 22\.19\.0$/],
    ["23.11.0", /^warning/],
    ["24.21.0", /^ok/],
  ])("checks whether Node %s can be used", (version, pattern) => {
    expect(formatFinding(checkNode(version))).toMatch(pattern);
  });

  it.each([
    [63, /^failed: .*63 MiB are free/],
    [64, /^warning/],
    [1024, /^ok/],
  ])("checks a disk with %d MiB", async (count, pattern) => {
    const { folder } = machine;
    const report = await checkDisk({ folder }, async () => count * 1024 * 1024);
    expect(formatFinding(report)).toMatch(pattern);
    expect(readdirSync(folder)).toEqual([]);
    expect(formatFinding(await checkDisk({ folder: join(folder, "none") }))).toMatch(
      /^failed: .* cannot be written \(ENOENT\)\. → Give write access/,
    );
  });
});

describe("sekisho doctor and the stored data", () => {
  const file = () => join(machine.folder, ".sekisho", "verification.db");
  const report = async (name: string) =>
    shownText(await machine.doctor(ports), `${name} verification.db`);

  it("explains a task file that is not a database", async () => {
    mkdirSync(join(machine.folder, ".sekisho"));
    writeFileSync(file(), "this is no database, however long it may be ".repeat(40));
    expect(await report("store")).toMatch(/^failed: .*is not a database.* → Restore it/);
    expect(await report("queue")).toMatch(/^failed/);
  });

  it("explains a file that another program has locked", async () => {
    await openSqliteEngine({ file: file() }).close();
    const other = new DatabaseSync(file());
    other.exec("BEGIN IMMEDIATE");
    const queue = await report("queue");
    other.close();
    expect(queue).toMatch(/^failed: .*is locked by another program\. → Close what has it/);
  });

  it("explains a file with a damaged page, as other commands do", async () => {
    await openSqliteEngine({ file: file() }).close();
    const handle = openSync(file(), "r+");
    for (let at = 4096; at < statSync(file()).size; at += 4096)
      writeSync(handle, Buffer.alloc(4096, 0x7f), 0, 4096, at);
    closeSync(handle);
    expect(await report("store")).toMatch(/^failed: .*damaged\. → Stop the zones/);
    expect(await report("queue")).toMatch(/^failed: .*damaged\. → Restore it from a copy/);
    const result = await commandHere(["tasks", "show", "a66468cb", "--store", file()], {});
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The task file .*damaged\. Restore/),
    });
  });

  it("leaves the queue of a zone unchanged", async () => {
    const engine = openSqliteEngine({ file: file() });
    const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
    await queue.send({ body: "of a task" });
    expect(await report("queue")).toBe("ok: A message was sent, received and finished.");
    const messages = await queue.receive({ max: 10, visibilityTimeoutMs: 1000, waitMs: 0 });
    expect(messages).toMatchObject([{ body: "of a task", receiveCount: 1 }]);
    await engine.close();
    const names = readdirSync(join(machine.folder, ".sekisho"));
    expect(names.filter((name) => !name.startsWith("verification"))).toEqual([]);
  });
});
