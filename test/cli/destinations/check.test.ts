/** `sekisho destinations check` against peers over real sockets, healthy and faulty ones. */
import "reflect-metadata";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { contractVersion } from "../../../contracts/version.ts";
import { freePort } from "../../../lib/local/free-port.ts";
import { failure, json, raw, result, silence } from "../../doubles/answers.ts";
import { deployWorker } from "../../doubles/aws/deployed-worker.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { pushedSettings, pushSettings } from "../../doubles/aws/pushed-settings.ts";
import { createAuthority } from "../../doubles/issuers/certificates.ts";
import { startTlsPeer } from "../../doubles/issuers/tls-peer.ts";
import {
  connectionReset,
  type Received,
  startWebServer,
  type WebServer,
} from "../../doubles/web-server.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { longestLimits } from "../../tooling/hang.ts";
import { deploy, twoAccounts, verificationAccount, writeConfig } from "../aws/a-stage.ts";
import { commandHere, failing } from "../aws/command-here.ts";

const folder = folderOfFile();
const token = "a-token-of-this-test";

const document = {
  openrpc: "1.3.2",
  info: { title: "A peer\u001b[31m", version: "7" },
  methods: [{ name: "execute_task" }],
};

/** The peers by the last part of their address. */
const answers: Record<
  string,
  (call: { id: string; signal: AbortSignal }) => Response | Promise<Response>
> = {
  healthy: (call) => result(call, document),
  "knows-no-discover": (call) => failure(call, "method_not_found"),
  "answers-anything": (call) => result(call, { status: "success", response_text: "hello" }),
  refuses: () => json({ error: "no" }, { status: 401 }),
  forbids: () => raw("", { status: 403 }),
  "forbids-in-json-rpc": (call) => failure(call, "permission_denied"),
  "is-not-there": () =>
    new Response("<html>", { status: 404, headers: { "content-type": "text/html" } }),
  "is-a-page": () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  redirects: () =>
    new Response(null, { status: 307, headers: { location: "https://elsewhere.example/" } }),
  "has-another-method": () => json({ detail: "Method Not Allowed" }, { status: 405 }),
  "is-another-api": () =>
    json({ detail: [{ loc: ["body", "params\u001b[31m"], msg: token }] }, { status: 422 }),
  "writes-nan": ({ id }) => raw(`{"jsonrpc":"2.0","id":"${id}","result":{"v":NaN}}`),
  "is-latin": () =>
    raw("{}", { headers: { "content-type": "application/json; charset=iso-8859-1" } }),
  "is-some-json": () => json({ hello: "world" }),
  "mixes-up-ids": () => result({ id: "another" }, document),
  "is-down": (call) => failure(call, "unavailable"),
  fails: () => json({}, { status: 500 }),
  "is-silent": ({ signal }) => silence({ signal }),
  resets: () => Promise.reject(connectionReset),
};

let peer: WebServer;
let received: Received[] = [];

beforeAll(async () => {
  peer = await startWebServer({
    async handle(call) {
      received.push(call);
      const answer = answers[call.target.slice(1)] ?? (() => raw("", { status: 404 }));
      return answer({
        id: JSON.parse(Buffer.from(call.body).toString()).id,
        signal: call.request.signal,
      });
    },
  });
});

beforeEach(() => {
  received = [];
});

afterAll(() => peer.close());
const bearer = { type: "bearer", token: { env: "PEER_TOKEN" } };
const at = (url: string, authorizer: unknown = bearer) => ({ transport: "https", url, authorizer });

function check(
  destinations: Record<string, unknown>,
  args: string[] = [],
  env: Record<string, string> = {},
  limits: object = longestLimits,
) {
  const execution = { syncBudgetMs: 100 };
  const config = writeConfig({
    folder,
    name: "checked.json",
    json: { destinations, routes: [], limits, execution },
  });
  return commandHere(["destinations", "check", "--config", config, ...args], {
    PEER_TOKEN: token,
    ...env,
  });
}

const rowsOf = (stdout: string) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("sekisho destinations check", () => {
  it("authenticates, calls rpc.discover twice, and says what the peer is and how fast", async () => {
    const ended = await check({ one: at(`${peer.url}/healthy`) });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(/^one: healthy, first call \d+ ms, second \d+ ms\n/);
    expect(ended.stdout).toContain("A peer[31m 7\n  methods: execute_task");
    const calls = received.map(({ request, body }) => [
      request.headers.get("authorization"),
      JSON.parse(body.toString()),
    ]);
    expect(calls).toHaveLength(2);
    for (const call of calls)
      expect(call).toEqual([
        `Bearer ${token}`,
        expect.objectContaining({ method: "rpc.discover" }),
      ]);
  });

  it("knows our own host, also as a function of the same process", async () => {
    const ended = await check({ here: { transport: "in-process" } }, ["--json"]);
    expect(ended.code).toBe(0);
    const [row] = rowsOf(ended.stdout);
    expect(row).toMatchObject({
      name: "here",
      health: "healthy",
      summary: `Sekisho zone contract ${contractVersion}`,
    });
    expect(row.methods).toContain("execute_task");
  });

  it("says of each that cannot be used why not, and what to do", async () => {
    const names = Object.keys(answers).filter((name) => name !== "healthy" && name !== "is-silent");
    const ended = await check(
      Object.fromEntries(names.map((name) => [name, at(`${peer.url}/${name}`)])),
      ["--json"],
    );
    expect(ended.code).toBe(1);
    const told = Object.fromEntries(
      rowsOf(ended.stdout).map(({ name, health, summary }) => [name, `${health}: ${summary}`]),
    );
    expect(told).toEqual({
      "knows-no-discover": expect.stringMatching(
        /^healthy: .*does not support rpc.discover \(optional, error -32601\)/,
      ),
      "answers-anything": expect.stringMatching(/^healthy: .*not an OpenRPC document/),
      refuses: expect.stringMatching(
        /^unhealthy: .*authenticate the caller.* the token .*\(HTTP 401\)/,
      ),
      forbids: expect.stringMatching(/^unhealthy: .*denied access to the caller.*\(HTTP 403\)/),
      "forbids-in-json-rpc": expect.stringMatching(/^unhealthy: .*denied access to the caller/),
      "is-not-there": expect.stringMatching(
        /^unhealthy: Nothing accepts calls at this path \(HTTP 404\)/,
      ),
      "is-a-page": expect.stringMatching(/^unhealthy: Its response is a web page \(HTTP 200\)/),
      redirects: expect.stringMatching(
        /^unhealthy: It redirects to https:\/\/elsewhere\.example\/ \(HTTP 307\)/,
      ),
      "has-another-method": expect.stringMatching(
        /^unhealthy: Nothing accepts POST requests .*\(HTTP 405\)/,
      ),
      "is-another-api": expect.stringMatching(
        /^unhealthy: It refuses the request.*\(HTTP 422\).* It complains of body\.params\[31m\.$/,
      ),
      "writes-nan": expect.stringMatching(/^unhealthy: .*\(HTTP 200\): the member "v" is NaN/),
      "is-latin": expect.stringMatching(/^unhealthy: Its response is not JSON in UTF-8/),
      "is-some-json": expect.stringMatching(
        /^unhealthy: Its response is not JSON-RPC \(HTTP 200\)/,
      ),
      "mixes-up-ids": expect.stringMatching(/^unhealthy: .*wrong id/),
      "is-down": expect.stringMatching(/^unhealthy: .*temporarily unavailable/),
      fails: expect.stringMatching(/^unhealthy: .*failed.*\(HTTP 500\)/),
      resets: expect.stringMatching(/^unreachable: It closed the connection/),
    });
    expect(ended.stdout + ended.stderr).not.toContain(token);
  });

  it("says of one that is silent how long it was waited for", async () => {
    const ended = await check(
      { one: at(`${peer.url}/is-silent`) },
      ["--json"],
      {},
      { callTimeoutMs: 400 },
    );
    expect(ended.code).toBe(3);
    expect(rowsOf(ended.stdout)).toMatchObject([
      { health: "unreachable", summary: "It did not answer within 0.4 s." },
    ]);
  });

  it("exits with 3 where none answers, and says what the network or TLS said", async () => {
    const authority = await createAuthority("nobody knows it");
    const tls = await startTlsPeer({ authority, required: false });
    const port = await freePort();
    const ended = await check(
      {
        nobody: at(`https://127.0.0.1:${port}/`),
        unbelieved: at(tls.url),
        clear: at(peer.url.replace("http:", "https:")),
        local: { transport: "https" },
      },
      ["--json"],
      { SEKISHO_EXECUTION_PORT: String(port) },
    );
    await tls.close();
    expect(ended.code).toBe(3);
    expect(rowsOf(ended.stdout).map(({ summary }) => summary)).toEqual([
      `Nothing is listening at 127.0.0.1:${port}. Check that it is running, and check the port.`,
      expect.stringMatching(/^The certificate of 127.0.0.1:\d+ is not trusted/),
      expect.stringMatching(/^The TLS handshake with 127.0.0.1:\d+ failed/),
      expect.stringMatching(/^Nothing is listening.*npx --no-install sekisho execution/),
    ]);
  });

  it("exits with 2 for a name that does not exist, and checks only those that are named", async () => {
    const both = { one: at(`${peer.url}/healthy`), two: at(`${peer.url}/refuses`) };
    expect(await check(both, ["three"])).toMatchObject(failing(2, "Known: one, two."));
    const ended = await check(both, ["one"]);
    expect(ended.code).toBe(0);
    expect(ended.stdout).not.toContain("two");
  });

  it("says which secret cannot be read, and calls nobody then", async () => {
    const ended = await check({ one: at(`${peer.url}/healthy`) }, [], { PEER_TOKEN: "" });
    expect(ended).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("Its secret PEER_TOKEN cannot be read."),
    });
    expect(received).toHaveLength(0);
  });
});

describe("sekisho destinations check with credentials of AWS", () => {
  let aws: AwsServices;
  beforeEach(async () => {
    aws = await startAwsServices({ account: verificationAccount });
  });
  afterEach(() => aws.close());
  const region = "eu-central-1";
  const vouched = () =>
    at(`${peer.url}/healthy`, { type: "web-identity", audience: "agents", region });

  it("says whose they are", async () => {
    const signed = at(`${peer.url}/healthy`, { type: "sigv4", service: "lambda", region });
    const ended = await check({ signed }, [], aws.env);
    expect(ended).toMatchObject(
      failing(0, `made as arn:aws:iam::${verificationAccount}:user/operator`),
    );
    expect(received[0]?.request.headers.get("authorization")).toContain("AWS4-HMAC-SHA256");
  });

  it("tells from each other why there is no credential", async () => {
    const refused = async (name: string, status: number) => {
      aws.refusals.set("sts:GetWebIdentityToken", { status, name });
      return (await check({ vouched: vouched() }, [], aws.env)).stdout;
    };
    expect(await refused("OutboundWebIdentityFederationDisabledException", 403)).toContain(
      "npx --no-install sekisho federation enable",
    );
    expect(await refused("AccessDenied", 403)).toContain("AWS STS denied access");
    expect(await refused("ValidationError", 400)).toContain(
      "issuer refused the request (ValidationError)",
    );
    const without = {
      AWS_EC2_METADATA_DISABLED: "true",
      HOME: folder,
      AWS_ENDPOINT_URL: aws.env.AWS_ENDPOINT_URL ?? "",
    };
    expect((await check({ vouched: vouched() }, [], without)).stdout).toContain(
      "No AWS credentials were found",
    );
    expect(received).toHaveLength(0);
  });

  const readSettings = () => pushedSettings({ client: aws.table });

  it("checks a stage's destinations by its worker, with what was pushed, its address and its secrets", async () => {
    const far = { ...twoAccounts.destinations.far, url: `${peer.url}/healthy` };
    const staged = { ...twoAccounts, destinations: { ...twoAccounts.destinations, far } };
    const address = {
      transport: "https",
      url: `${peer.url}/knows-no-discover`,
      region: "eu-west-1",
      functionArn: "arn:aws:lambda:eu-west-1:222222222222:function:url",
    };
    const executionAddress = JSON.stringify(address);
    const worker = deployWorker({
      aws,
      json: staged,
      stageName: "prod",
      executionAddress,
      readSettings,
    });
    deploy({ aws, json: staged, executionAddress, workerFunction: worker.arn });
    const added = { ...staged, destinations: { ...staged.destinations, added: far } };
    const config = writeConfig({ folder, name: "staged.json", json: added });
    const run = (...names: string[]) =>
      commandHere(
        ["destinations", "check", ...names, "--stage", "prod", "--json", "--config", config],
        aws.env,
      );
    const without = await run();
    expect(without.code).toBe(1);
    expect(rowsOf(without.stdout)[1].summary).toMatch(
      /^Its secret sekisho\/prod\/FAR_TOKEN cannot be read/,
    );
    aws.secrets.all.set("sekisho/prod/FAR_TOKEN", { value: token });
    // The operator may not read it.
    aws.refusals.set("secretsmanager:GetSecretValue", {
      status: 400,
      name: "AccessDeniedException",
    });
    const ended = await run();
    expect(ended.code).toBe(0);
    expect(rowsOf(ended.stdout).map(({ address: where }) => where)).toEqual([address.url, far.url]);
    expect(ended.stdout + ended.stderr).not.toContain(token);
    expect(ended.stderr).toContain("added is not deployed, so it is not checked");
    const one = await run("added");
    expect(one.code).toBe(1);
    expect(rowsOf(one.stdout)).toEqual([
      expect.objectContaining({ summary: expect.stringMatching(/^It is not deployed/) }),
    ]);
    expect(await run("nobody")).toMatchObject(failing(2, "Known: local, far, added"));
    const deployed = JSON.parse(
      aws.stacks.get("Sekisho-prod-Verification")?.DeployedDestinations ?? "{}",
    );
    const pushed = {
      destinations: { far: { fingerprint: deployed.far, url: `${peer.url}/refuses` } },
    };
    await pushSettings({ client: aws.table, settings: JSON.stringify(pushed) });
    const [row] = rowsOf((await run("far")).stdout);
    expect(row).toMatchObject({ name: "far", health: "unhealthy", address: `${peer.url}/refuses` });
  });

  it("says which permission the person lacks for a stage", async () => {
    const executionAddress = JSON.stringify({
      transport: "https",
      url: peer.url,
      region: "eu-west-1",
      functionArn: "arn:aws:lambda:eu-west-1:222222222222:function:url",
    });
    const worker = deployWorker({
      aws,
      json: twoAccounts,
      stageName: "prod",
      executionAddress,
      readSettings,
    });
    deploy({ aws, json: twoAccounts, executionAddress, workerFunction: worker.arn });
    aws.refusals.set("lambda:Invoke", { status: 403, name: "AccessDeniedException" });
    const config = writeConfig({ folder, name: "staged.json", json: twoAccounts });
    const ended = await commandHere(
      ["destinations", "check", "--stage", "prod", "--config", config],
      aws.env,
    );
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`lack lambda:InvokeFunction on ${worker.arn}`);
  });
});

let agentPeer: WebServer;
let agentCalls: Received[] = [];

/** The card at `/NAME/card`, and the answer of `/NAME` to a call. */
type Answer = (call: { id: string; base: string; asked: string }) => Response;

const rpc = (call: { id: string }, answer: object) =>
  json({ jsonrpc: "2.0", id: call.id, ...answer });
const unknownTask: Answer = (call) =>
  rpc(call, { error: { code: -32001, message: "Task not found" } });

const cardAt =
  (...versions: string[]): Answer =>
  ({ base }) => {
    const supportedInterfaces = versions.map((version) => ({
      ...{ url: base, protocolBinding: "JSONRPC", protocolVersion: version },
    }));
    return json({ name: "An agent\u001b[31m", supportedInterfaces, capabilities: {} });
  };

const cardOver =
  (...bindings: string[]): Answer =>
  ({ base }) => {
    const supportedInterfaces = bindings.map((protocolBinding) => ({
      ...{ url: base, protocolBinding, protocolVersion: "1.0" },
    }));
    return json({ name: "An agent", supportedInterfaces });
  };

const agents: Record<string, { card: Answer; call: Answer }> = {
  "speaks-both": { card: cardAt("0.3", "1.0"), call: unknownTask },
  "knows-every-task": {
    card: cardAt("1.0"),
    call: (call) =>
      rpc(call, {
        result: { id: call.asked, contextId: "c", status: { state: "TASK_STATE_WORKING" } },
      }),
  },
  "is-too-old": { card: cardAt("0.1.0"), call: unknownTask },
  "says-internal": {
    card: cardAt("0.3"),
    call: (call) =>
      rpc(call, {
        error: { code: -32603, message: `Internal error: Task not found: ${call.asked}` },
      }),
  },
  "is-broken-inside": {
    card: cardAt("0.3"),
    call: (call) => rpc(call, { error: { code: -32603, message: "boom" } }),
  },
  "is-a-page": {
    card: () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    call: unknownTask,
  },
  "is-a-page-as-json": { card: () => raw("<!doctype html>"), call: unknownTask },
  "is-rest-only": { card: cardOver("HTTP+JSON", "GRPC"), call: unknownTask },
  "is-grpc-only": {
    card: ({ base }) =>
      json({ name: "old", protocolVersion: "0.3.0", url: base, preferredTransport: "GRPC" }),
    call: unknownTask,
  },
  "is-pinned": { card: cardAt("1.0"), call: unknownTask },
  "is-nowhere": { card: () => new Response("<html>", { status: 404 }), call: unknownTask },
  "is-broken": { card: () => raw('{"name": "an ag'), call: unknownTask },
  "is-foreign": { card: () => json({ name: "left-pad", version: "1.3.0" }), call: unknownTask },
  "is-null": { card: () => json(null), call: unknownTask },
  "is-hostile": {
    card: cardOver("\u001b[31mbad", "x".repeat(2000), ..."abcdefghijk"),
    call: unknownTask,
  },
  "is-huge": { card: () => json({ name: "x".repeat(300_000) }), call: unknownTask },
  "is-elsewhere": {
    card: (call) => cardAt("1.0")({ ...call, base: "https://elsewhere.example/" }),
    call: unknownTask,
  },
  "hides-its-card": { card: () => json({}, { status: 401 }), call: unknownTask },
  "refuses-calls": { card: cardAt("1.0"), call: () => raw("", { status: 403 }) },
  "knows-no-tasks": {
    card: cardAt("1.0"),
    call: (call) => rpc(call, { error: { code: -32601, message: "?" } }),
  },
};

beforeAll(async () => {
  agentPeer = await startWebServer({
    async handle(call) {
      agentCalls.push(call);
      const [, name = "", rest] = call.target.split("/");
      const agent = name === ".well-known" ? agents["speaks-both"] : agents[name];
      const base = `${agentPeer.url}/${name === ".well-known" ? "speaks-both" : name}`;
      if (call.request.method === "GET")
        return agent?.card({ id: "", base, asked: "" }) ?? raw("", { status: 404 });
      const { id, params } = JSON.parse(Buffer.from(call.body).toString());
      return (
        (rest === undefined && agent?.call({ id, base, asked: params.id })) ||
        raw("", { status: 404 })
      );
    },
  });
});

beforeEach(() => {
  agentCalls = [];
});

afterAll(() => agentPeer.close());
const authorizer = { type: "bearer", token: { env: "AGENT_TOKEN" } };

const agentAt = (name: string, more: object = {}) => ({
  ...{ transport: "a2a", card: `${agentPeer.url}/${name}/card`, authorizer },
  ...more,
});

async function checkAgents(
  destinations: Record<string, unknown>,
  env: Record<string, string> = {},
) {
  const config = writeConfig({ folder, name: "agents.json", json: { destinations, routes: [] } });
  const ended = await commandHere(["destinations", "check", "--json", "--config", config], {
    AGENT_TOKEN: token,
    ...env,
  });
  expect(ended.stdout + ended.stderr).not.toContain(token);
  const rows = ended.stdout.trim().split("\n");
  return {
    code: ended.code,
    told: Object.fromEntries(rows.map((row) => toNameAndText(JSON.parse(row)))),
  };
}

function toNameAndText({
  name,
  health,
  summary,
}: Record<string, string>): [string | undefined, string] {
  return [name, `${health}: ${summary}`];
}

describe("sekisho destinations check of an A2A agent", () => {
  it("says what its card says, and asks with credentials for a task that it cannot know, and for nothing else", async () => {
    const { code, told } = await checkAgents({ agent: agentAt("speaks-both") });
    expect(told).toEqual({
      agent: `healthy: An agent[31m, A2A 1.0 at ${agentPeer.url}/speaks-both`,
    });
    expect(code).toBe(0);
    expect(
      agentCalls.every(({ request }) => request.headers.get("authorization") === `Bearer ${token}`),
    ).toBe(true);
    const calls = agentCalls.filter(({ request }) => request.method === "POST");
    expect(calls.map(({ body }) => JSON.parse(Buffer.from(body).toString()).method)).toEqual([
      "GetTask",
      "GetTask",
    ]);
  });

  it("calls it in the version and at the address that the configuration names", async () => {
    const url = `${agentPeer.url}/knows-every-task`;
    const { told } = await checkAgents({
      old: agentAt("speaks-both", { version: "0.3" }),
      moved: agentAt("is-elsewhere", { url }),
    });
    expect(told.old).toContain(`A2A 0.3 at ${agentPeer.url}/speaks-both`);
    expect(told.moved).toContain(`healthy: An agent[31m, A2A 1.0 at ${url}`);
  });

  it("finds the local host by its own card where the destination names none", async () => {
    const { told } = await checkAgents(
      { own: { transport: "a2a" } },
      { SEKISHO_EXECUTION_PORT: new URL(agentPeer.url).port },
    );
    expect(told.own).toContain("healthy: An agent");
    expect(agentCalls[0]?.target).toBe("/.well-known/agent-card.json");
  });

  it("says of each that cannot be used why not, and what to do", async () => {
    const names = Object.keys(agents).filter((name) => name !== "speaks-both");
    const named = names.map((name) => [
      name,
      agentAt(name, name === "is-pinned" ? { version: "0.3" } : {}),
    ]);
    const { code, told } = await checkAgents(Object.fromEntries(named));
    expect(code).toBe(1);
    expect(told).toEqual({
      "knows-every-task": expect.stringMatching(/^healthy: An agent/),
      "is-too-old": expect.stringMatching(
        /^unhealthy: .*JSON-RPC in version 0\.1\.0 of A2A only.*supports 1\.0, 0\.3 and 0\.2/,
      ),
      "says-internal": expect.stringMatching(/^healthy: An agent/),
      "is-broken-inside": expect.stringMatching(/^unhealthy: .*error -32603, /),
      "is-rest-only": expect.stringMatching(
        /^unhealthy: Its agent card offers HTTP\+JSON, GRPC only, and .*gateway/,
      ),
      "is-grpc-only": expect.stringMatching(/^unhealthy: Its agent card offers GRPC only/),
      "is-pinned": expect.stringMatching(
        /^unhealthy: .*in version 1\.0 of A2A only, .*version is 0\.3.*"highest"/,
      ),
      "is-nowhere": expect.stringMatching(
        /^unhealthy: There is no agent card at its address \(HTTP 404\)\. .*agent-card\.json/,
      ),
      "is-a-page": expect.stringMatching(/^unhealthy: The card's address returns a web page/),
      "is-a-page-as-json": expect.stringMatching(
        /^unhealthy: The card's address returns a web page/,
      ),
      "is-broken": expect.stringMatching(
        /^unhealthy: The card's address returns something that is not JSON/,
      ),
      "is-foreign": expect.stringMatching(
        /^unhealthy: The JSON at the card's address is not the agent card.*no address to call/,
      ),
      "is-null": expect.stringMatching(
        /^unhealthy: The JSON at the card's address is not the agent card of an A2A agent/,
      ),
      "is-hostile": expect.stringMatching(
        /^unhealthy: Its agent card offers \[31mbad, x{60}.* and more only/,
      ),
      "is-huge": expect.stringMatching(/^unhealthy: Its agent card is larger than 256 KiB/),
      "is-elsewhere": expect.stringMatching(
        /^unhealthy: .*address at another origin.* set the destination's url/,
      ),
      "hides-its-card": expect.stringMatching(/^unhealthy: It could not authenticate the caller/),
      "refuses-calls": expect.stringMatching(
        /^unhealthy: .*denied access to the caller.*\(HTTP 403\)/,
      ),
      "knows-no-tasks": expect.stringMatching(/^unhealthy: .*error -32601, /),
    });
  });
});
