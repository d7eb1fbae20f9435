/** `sekisho conformance` as a person runs it: reports, exit codes, refusals, and where there are no credentials. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { JsonReport } from "@sekisho/conformance/reports.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { findEndpoint } from "@sekisho/sekisho/find-endpoint.ts";
import {
  askerZone,
  createHonestHost,
  otherToken,
  token,
} from "../../conformance/honest-endpoint.ts";
import { json, raw, silence } from "../../doubles/answers.ts";
import { startAwsServices } from "../../doubles/aws/json-services.ts";
import { withGrowingLimit } from "../../doubles/growing-limit.ts";
import { minimalEndpoint } from "../../doubles/minimal-endpoint.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";
import { afterTest, folderOfFile } from "../../tooling/cleanup.ts";
import { verificationAccount } from "../aws/a-stage.ts";
import { commandHere, failing, printing, refusing } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";

const folder = folderOfFile();
const env = { AGENTS_TOKEN: token };
const auth = ["--auth", "bearer:AGENTS_TOKEN"];
const soon = ["--no-second-look"];
const asker = (file: string) => [
  ...["--asker-key", file, "--asker-issuer", askerZone.issuer],
  ...["--asker-audience", askerZone.audience],
];

/** A busy machine takes so long for the short task that one case takes it for a slow one, which its time limit should have ended. */
const broken = /^(FAILED|not kept(?! +strict +execute\/timeout-ms\n))/m;

async function serve(handle: (call: Received) => Promise<Response>): Promise<string> {
  const server = await startWebServer({ handle });
  afterTest(server.close);
  return server.url;
}

async function serveHost(
  settings: NonNullable<Parameters<typeof createHonestHost>[0]>,
): Promise<string> {
  const host = createHonestHost(settings);
  const server = await startExecutionServer({ host, port: 0 });
  afterTest(server.close, () => host.stop({ graceMs: 0 }));
  return server.url;
}

function conformance(args: string[]) {
  return commandHere(["conformance", "--budget", "3600", ...args], env);
}

describe("sekisho conformance of our own host", () => {
  it("passes a host that answers at once and verifies who asked, skips the cases of slow answers, and exits with 0", async () => {
    const url = await serveHost({ syncBudgetMs: 5000, asker: askerZone });
    const keyFile = join(folder, "asker.pem");
    writeFileSync(keyFile, askerZone.key.export({ type: "pkcs8", format: "pem" }));
    const { code, stdout, stderr } = await conformance([
      url,
      ...auth,
      "--slow-text",
      "slow 10ms",
      ...soon,
      ...asker(keyFile),
    ]);
    expect({ code, stdout }).toMatchObject(printing("passes every required case"));
    expect(stdout).not.toMatch(broken);
    expect(stdout).toMatch(/^passed +required +asker\/replayed/m);
    expect(stdout).toMatch(
      /^skipped +required +accepted\/result\n.*\n +because +the endpoint answers "slow 10ms" at once/m,
    );
    expect(stderr).toContain(`Testing ${url}.`);
    expect(stdout + stderr).not.toContain(token);
  });

  it("passes every case of a configured destination, and reports as JSON and as JUnit XML", async () => {
    const url = await serveHost({ syncBudgetMs: 50 });
    const authorizer = { type: "bearer", token: { env: "AGENTS_TOKEN" } };
    const far = { transport: "https", url, authorizer, idempotent: true };
    const config = join(folder, "far.json");
    writeFileSync(
      config,
      JSON.stringify({ destinations: { far }, routes: [{ destination: "far" }] }),
    );
    const junit = join(folder, "far.xml");
    const args = [
      ...["--budget", "3600", "--destination", "far", "--config", config],
      ...["--json", "--junit", junit, "--other-auth", "bearer:OTHER_TOKEN", "--level", "strict"],
    ];
    // A machine that is too slow finds the slow task over, and then skips the cases that need it.
    const { result, report } = await withGrowingLimit({
      firstMs: 3000,
      async attempt(slowMs) {
        const texts = [
          "--slow-text",
          `slow ${slowMs}ms`,
          "--stream-text",
          `stream, slow ${slowMs}ms`,
        ];
        const variables = { ...env, OTHER_TOKEN: otherToken };
        const result = await commandHere(["conformance", ...args, ...texts], variables);
        const report: JsonReport = JSON.parse(result.stdout);
        return { result, report };
      },
      isFair: ({ report: { cases } }) => cases.every(({ outcome }) => outcome !== "skipped"),
    });
    expect(report).toMatchObject({ endpoint: 'destination "far"', kept: true });
    const unusual = report.cases.filter(({ outcome }) => outcome !== "passed");
    expect(unusual.map(({ name }) => name)).toEqual([]);
    expect(result.code).toBe(0);
    const idempotency = report.cases.filter(({ name }) => name.startsWith("idempotency/"));
    expect(new Set(idempotency.map(({ level }) => level))).toEqual(new Set(["required"]));
    const counts = [`tests="${report.cases.length}"`, 'failures="0"', 'skipped="0"'];
    for (const count of counts) expect(readFileSync(junit, "utf8")).toContain(count);
  });
});

describe("sekisho conformance of a destination without a URL", () => {
  it("tests the host in the same program, and names the callers that it cannot test", async () => {
    const config = join(folder, "here.json");
    const here = { transport: "in-process" };
    writeFileSync(
      config,
      JSON.stringify({ destinations: { here }, routes: [{ destination: "here" }] }),
    );
    const args = ["--destination", "here", "--config", config, "--slow-text", "slow 10ms", ...soon];
    const { code, stdout } = await conformance(args);
    expect({ code, stdout }).toMatchObject(printing("passes every required case"));
    expect(stdout).not.toMatch(broken);
    expect(stdout).toContain("the transport in-process authenticates callers by itself");
  });
});

describe("sekisho conformance of an endpoint that breaks the contract", () => {
  it("names the failed case of an endpoint that breaks the contract, and exits with 1", async () => {
    const keeps = minimalEndpoint({ token });
    const url = await serve(async (call) => {
      const text = Buffer.from(call.body).toString();
      return text === "42" ? raw("", { status: 500 }) : keeps(call);
    });
    const { code, stdout, stderr } = await conformance([url, ...auth, ...soon]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.not.stringContaining("--agent") });
    expect(stdout).toMatch(
      /^FAILED +required +envelope\/no-object$\n.*-32600.*\n +sent +42\n +came +HTTP 500, no JSON-RPC body$/m,
    );
    expect(stdout).toContain(`${url} fails required cases: envelope/no-object.`);
  });

  it("fails an endpoint whose answers are never JSON-RPC", async () => {
    const { code, stdout, stderr } = await conformance([
      await serve(async () => json({ message: "hello" })),
      ...auth,
      ...soon,
    ]);
    expect(code).toBe(1);
    expect(stdout).not.toMatch(/^passed +required/m);
    expect(stderr).toContain("An agent of another protocol is tested with --agent URL.");
  });
});

describe("sekisho conformance --junit", () => {
  it("prints its report even if the file of --junit cannot be written, and exits with 1", async () => {
    const junit = join(folder, "taken.xml");
    const keeps = minimalEndpoint({ token });
    const url = await serve(async (call) => {
      mkdirSync(junit, { recursive: true });
      return keeps(call);
    });
    expect(await conformance([url, ...auth, ...soon, "--junit", junit])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("passes every required case"),
      stderr: expect.stringContaining("EISDIR"),
    });
  });

  it("keeps an older file of --junit and creates no new one without a report", async () => {
    const url = await serve(async () => raw("", { status: 404 }));
    const [kept, missing] = [join(folder, "kept.xml"), join(folder, "missing.xml")];
    writeFileSync(kept, "an older report");
    for (const junit of [kept, missing])
      expect((await conformance([url, ...auth, "--junit", junit])).code).toBe(3);
    expect([readFileSync(kept, "utf8"), existsSync(missing)]).toEqual(["an older report", false]);
  });
});

describe("sekisho conformance without a usable endpoint", () => {
  it.each([
    [
      "a wrong path",
      () => raw("", { status: 404 }),
      "no Execution endpoint at this address: HTTP 404",
    ],
    ["an unreachable endpoint", () => raw("", { status: 503 }), "is not available: HTTP 503"],
    ["refused credentials", () => raw("", { status: 403 }), "refuses the credentials: HTTP 403"],
    [
      "credentials refused by an error",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -32066, message: "no" } }),
      "refuses the credentials: HTTP 200",
    ],
  ])("exits with 3 for %s", async (_what, answer, text) => {
    const url = await serve(async () => answer());
    expect(await conformance([url, ...auth])).toMatchObject(refusing(3, text));
  });

  it("exits with 3 if nothing listens or nothing answers", async () => {
    const reached = expect.stringContaining("cannot be reached: no connection");
    const nobody = await conformance([`http://127.0.0.1:${await freePort()}/`]);
    expect(nobody).toMatchObject({ code: 3, stdout: "", stderr: reached });
    const url = await serve(({ request }) => silence(request));
    const late = expect.stringContaining("cannot be reached: no answer within 0.2 s");
    expect(await conformance([url, "--call-timeout", "0.2"])).toMatchObject({
      code: 3,
      stderr: late,
    });
  });

  it("exits with 3 if there are no usable credentials", async () => {
    const url = await serve(minimalEndpoint({ token }));
    const result = await commandHere(["conformance", url, ...auth], { AGENTS_TOKEN: "no token" });
    expect(result).toMatchObject(failing(3, "credential cannot be sent"));
  });
});

describe("sekisho conformance with wrong arguments", () => {
  const url = "https://agents.sekisho.invalid/";
  it.each([
    [[], "either a URL or --destination NAME"],
    [[url, "--destination", "local"], "either a URL or --destination NAME"],
    [[url, url], "Only one URL can be given"],
    [["--destination", "nowhere"], 'no destination "nowhere". Known: local'],
    [["--destination", "local", "--auth", "none"], "--auth and --dialect need a URL"],
    [["http://agents.sekisho.invalid/"], "The URL must be an https URL"],
    [["http://u:p@127.0.0.1/"], "The URL must be an https URL without credentials in it"],
    [["nonsense"], '"nonsense" is not a URL'],
    [[url], '--auth: must not be "none"'],
    [[url, "--auth", "none:really"], "--auth: none is written none."],
    [[url, "--auth", "kerberos"], '"kerberos" is none of none, bearer, sigv4, web-identity'],
    [[url, "--auth", "constructor"], '"constructor" is none of none'],
    [[url, "--auth", "bearer:NOT_SET"], "NOT_SET is not set"],
    [[url, "--auth", "bearer"], "--auth: bearer is written bearer:ENV_NAME."],
    [
      [url, "--auth", "bearer:the-token-itself"],
      "--auth: must be the name of an environment variable",
    ],
    [[url, "--auth", "sigv4:lambda"], "--auth: sigv4 is written sigv4:SERVICE:REGION."],
    [[url, "--auth", "sigv4::eu-central-1"], "--auth: sigv4 is written sigv4:SERVICE:REGION."],
    [[url, "--auth", "web-identity"], "--auth: web-identity is written web-identity:AUDIENCE."],
    [[url, "--dialect", "klingon"], "--dialect: "],
    [[url, ...auth, "--call-timeout", "soon"], '"soon" is not a number of seconds'],
    [[url, ...auth, "--budget", "0"], '--budget: "0" is not a number of seconds'],
    [[url, ...auth, "--level", "lax"], '--level: "lax" is none of required, strict'],
    [[url, ...auth, "--profile", "ftp"], '--profile: "ftp" is none of https, agentcore'],
    [[url, ...auth, "--other-auth", "kerberos"], '--other-auth: "kerberos" is none of'],
    [[url, ...auth, "--other-auth", "bearer:NOT_SET"], "NOT_SET is not set"],
    [[url, ...auth, "--asker-issuer", url], "--asker-audience need each other"],
    [[url, ...auth, ...asker("/no/such.pem")], "/no/such.pem cannot be read (ENOENT)"],
    [[url, ...auth, ...asker(__filename)], "is no private key in PEM"],
    [["--destination", "local", "--idempotent"], "--idempotent needs a URL"],
    [[url, ...auth, "--junit", "/no/such/folder/x.xml"], "no folder /no/such/folder"],
    [[url, ...auth, "--junit", folder], `${folder} cannot be written (EISDIR)`],
    [[url, ...auth, "--junit", join(__filename, "x.xml")], "cannot be written (ENOTDIR)"],
  ])("exits with 2 for the arguments %j", async (args, text) => {
    const result = await conformance(args);
    expect(result).toMatchObject(refusing(2, text));
    expect(result.stderr).not.toMatch(/the-token-itself|destinations\.endpoint/);
  });
});

it.each([{ transport: "a2a" }, { transport: "in-process", protocol: "a2a" }])(
  "sekisho conformance refuses the A2A agent %j, which has another contract, and suggests the doctor",
  async (agent) => {
    const config = join(folder, "a2a.json");
    writeFileSync(config, JSON.stringify({ destinations: { agent }, routes: [] }));
    expect(await conformance(["--destination", "agent", "--config", config])).toMatchObject(
      failing(2, "npx --no-install sekisho doctor --destination agent"),
    );
  },
);

it("sekisho conformance refuses a destination whose authorizer needs a person", async () => {
  const config = join(folder, "personal.json");
  const destinations = {
    own: { transport: "https", url: "https://a.example/", authorizer: { type: "asker" } },
  };
  const asker = {
    issuer: "https://asker.example.com",
    keys: [{ id: "main", from: "2026-01-01T00:00:00Z" }],
  };
  writeFileSync(config, JSON.stringify({ asker, destinations, routes: [] }));
  expect(await conformance(["--destination", "own", "--config", config])).toMatchObject(
    refusing(2, "sends the token of a person"),
  );
});

describe("the argument of --auth", () => {
  it.each([
    ["bearer:AGENTS_TOKEN", { type: "bearer", token: { env: "AGENTS_TOKEN" } }],
    ["sigv4:lambda:eu-central-1", { type: "sigv4", service: "lambda", region: "eu-central-1" }],
    [
      "web-identity:api://agents",
      { type: "web-identity", audience: "api://agents", signingAlgorithm: "RS256" },
    ],
  ])("reads %s as an authorizer of the configuration", (args, authorizer) => {
    const url = "https://agents.sekisho.invalid/";
    const place = { directory: folder };
    const { destination } = findEndpoint({
      url,
      auth: args,
      dialect: "zone-strict",
      destination: undefined,
      location: place,
    });
    expect(destination).toMatchObject({
      transport: "https",
      url,
      authorizer,
      dialect: "zone-strict",
      idempotent: false,
    });
  });
});

describe("sekisho conformance at Ctrl-C", () => {
  const { start } = commandsInFolder();

  it("ends at once on Ctrl-C with 130 and without a report, even if the endpoint hangs", async () => {
    const keeps = minimalEndpoint({ token });
    const url = await serve((call) =>
      Buffer.from(call.body).toString().includes("slow") ? silence(call.request) : keeps(call),
    );
    const running = start(["conformance", url, ...auth, "--slow-text", "slow"], env);
    await running.prints("Testing");
    expect(await running.kill("SIGINT")).toMatchObject({
      code: 130,
      stdout: "",
      stderr: expect.stringContaining("Interrupted"),
    });
  });
});

it("sekisho conformance exits with 3 if AWS gives no token, and explains how to enable the federation", async () => {
  const aws = await startAwsServices({ account: verificationAccount });
  afterTest(aws.close);
  aws.refusals.set("sts:GetWebIdentityToken", {
    status: 403,
    name: "OutboundWebIdentityFederationDisabledException",
  });
  // Nobody listens at the address, because nothing is sent without a credential.
  const url = `http://127.0.0.1:${await freePort()}/`;
  const args = ["conformance", url, "--auth", "web-identity:agents"];
  const result = await commandHere(args, { ...aws.env, AWS_REGION: "eu-central-1" });
  expect(result).toMatchObject(failing(3, "npx --no-install sekisho federation enable"));
});
