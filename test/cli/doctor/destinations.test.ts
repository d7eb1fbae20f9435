/** `sekisho doctor` at destinations over real sockets, healthy and faulty ones. */
import "reflect-metadata";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { contractVersion } from "@sekisho/contracts/version.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { failure, json, raw, result, silence } from "../../doubles/answers.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { createAuthority } from "../../doubles/issuers/certificates.ts";
import { startTlsPeer } from "../../doubles/issuers/tls-peer.ts";
import {
  connectionReset,
  type Received,
  startWebServer,
  type WebServer,
} from "../../doubles/web-server.ts";
import { longestLimits } from "../../tooling/hang.ts";
import { openMachine, shownText } from "./a-machine.ts";

const token = "a-token-of-this-test";
const machine = openMachine();
let peer: WebServer;
let requests: Received[] = [];

type Call = { id: string; base: string; params: { id?: string }; signal: AbortSignal };
type Answer = (call: Call) => Response | Promise<Response>;
/** A peer by its name in the address. `card` is of an A2A agent, `models` of a model. `found` is what the doctor says. */
type Peer = { answer: Answer; card?: Answer; models?: Answer; more?: object; found: RegExp };

const html = (status: number) => () =>
  new Response("<html>", { status, headers: { "content-type": "text/html" } });

const document = {
  openrpc: "1.3.2",
  info: { title: "A peer\u001b[31m", version: "7" },
  methods: [],
};

const peers: Record<string, Peer> = {
  "knows-no-discover": {
    answer: (call) => failure(call, "method_not_found"),
    found: /^ok: .*does not support rpc.discover \(optional, error -32601\)/,
  },
  "answers-anything": {
    answer: (call) => result(call, { status: "success", response_text: "hello" }),
    found: /^ok: .*not an OpenRPC document/,
  },
  refuses: {
    answer: () => json({ error: "no" }, { status: 401 }),
    found: /^failed: It could not authenticate the caller .* → .* the token .*\(HTTP 401\)/,
  },
  forbids: {
    answer: () => raw("", { status: 403 }),
    found: /^failed: It denied access to the caller .* → .*\(HTTP 403\)/,
  },
  "forbids-in-json-rpc": {
    answer: (call) => failure(call, "permission_denied"),
    found: /^failed: .*denied access to the caller/,
  },
  "is-not-there": {
    answer: html(404),
    found: /^failed: Nothing accepts calls at this path \(HTTP 404\)/,
  },
  "is-a-page": { answer: html(200), found: /^failed: Its response is a web page \(HTTP 200\)/ },
  "is-another-api": {
    answer: () =>
      json({ detail: [{ loc: ["body", "params\u001b[31m"], msg: token }] }, { status: 422 }),
    found: /^failed: It refuses the request.* It complains of body\.params\[31m\.$/,
  },
  "speaks-ag-ui": {
    answer: () => json({ detail: [{ loc: ["body", "threadId"], msg: token }] }, { status: 422 }),
    found:
      /^failed: It answers like AG-UI.*\(HTTP 422\).* → Put it behind .*"type": "ag-ui".*agents add URL\. It complains of body\.threadId\.$/,
  },
  "begins-a-run": {
    answer: () =>
      raw('data: {"type":"RUN_STARTED"}\n\n', {
        headers: { "content-type": "text/event-stream" },
      }),
    found: /^failed: It answers like AG-UI.*\(HTTP 200\)/,
  },
  "streams-anything": {
    answer: () => raw(`data: ${token}\n\n`, { headers: { "content-type": "text/event-stream" } }),
    found: /^failed: It answers like a plain endpoint.*\(HTTP 200\).* → .*"type": "http"/,
  },
  "is-plain": {
    answer: () => json({ result: token }),
    found: /^failed: It answers like a plain endpoint/,
  },
  "is-an-a2a-agent": {
    answer: (call) => failure(call, "method_not_found"),
    card: () => json({ name: token, skills: [], supportedInterfaces: [] }),
    found:
      /^failed: It is an A2A agent, whose card is at http.*is-an-a2a-agent .* → Set "transport": "a2a"/,
  },
  "is-a-model": {
    answer: html(404),
    models: () => json({ data: [{ id: token }] }),
    found: /^failed: It lists models at http.*\/is-a-model\/v1, .* → Put it .* agents add http/,
  },
  "mixes-up-ids": { answer: () => result({ id: "x" }, document), found: /^failed: .*wrong id/ },
  "is-down": {
    answer: (call) => failure(call, "unavailable"),
    found: /^failed: It is temporarily unavailable.* → Try again in a minute/,
  },
  fails: { answer: () => json({}, { status: 500 }), found: /^failed: .*failed.*\(HTTP 500\)/ },
  resets: { answer: () => Promise.reject(connectionReset), found: /^failed: It closed the conn/ },
};

const rpc = ({ id }: Call, answer: object) => json({ jsonrpc: "2.0", id, ...answer });
const error = (code: number, message: string) => (call: Call) =>
  rpc(call, { error: { code, message } });
const unknownTask = error(-32001, "Task not found");

/** The card of an agent with one interface for each binding and version, such as `JSONRPC 1.0`. */
const card =
  (...offers: string[]): Answer =>
  ({ base }) => {
    const supportedInterfaces = offers.map((offer) => {
      const [protocolBinding, protocolVersion] = offer.split(" ");
      return { url: base, protocolBinding, protocolVersion };
    });
    return json({ name: "An agent\u001b[31m", supportedInterfaces, capabilities: {} });
  };
const withCard = (answer: Answer, check: RegExp): Peer => {
  return { answer: unknownTask, card: answer, found: check };
};

const agents: Record<string, Peer> = {
  "speaks-both": withCard(
    card("JSONRPC 0.3", "JSONRPC 1.0"),
    /^ok: An agent\[31m, A2A 1\.0 at http.*\/speaks-both /,
  ),
  "speaks-old": {
    ...withCard(card("JSONRPC 0.3", "JSONRPC 1.0"), /^ok: An agent\[31m, A2A 0\.3 at /),
    more: { version: "0.3" },
  },
  "knows-every-task": {
    card: card("JSONRPC 1.0"),
    answer: (call) => {
      const status = { state: "TASK_STATE_WORKING" };
      return rpc(call, { result: { id: call.params.id, contextId: "c", status } });
    },
    found: /^ok: An agent/,
  },
  "says-internal": {
    card: card("JSONRPC 0.3"),
    answer: error(-32603, "Internal error: Task not found: x"),
    found: /^ok: An agent/,
  },
  "is-broken-inside": {
    card: card("JSONRPC 0.3"),
    answer: error(-32603, "boom"),
    found: /^failed: .*error -32603, /,
  },
  "is-too-old": withCard(
    card("JSONRPC 0.1.0"),
    /^failed: Its agent card offers version 0\.1\.0 of A2A only.*supports 1\.0, 0\.3 and 0\.2/,
  ),
  "speaks-http-json": {
    card: card("HTTP+JSON 1.0", "GRPC 1.0"),
    answer: () => {
      const type = "type.googleapis.com/google.rpc.ErrorInfo";
      const info = { "@type": type, reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" };
      return json({ error: { code: 404, message: "no", details: [info] } }, { status: 404 });
    },
    found: /^ok: An agent\[31m, A2A 1\.0 at http.*\/speaks-http-json /,
  },
  "has-no-paths": {
    card: card("HTTP+JSON 0.3"),
    answer: html(404),
    found: /^failed: Nothing accepts calls at this path \(HTTP 404\)/,
  },
  "is-grpc-only": withCard(
    ({ base }) =>
      json({ name: "old", protocolVersion: "0.3.0", url: base, preferredTransport: "GRPC" }),
    /^failed: Its agent card offers GRPC only, and Sekisho .*JSON-RPC or HTTP\+JSON.*gateway/,
  ),
  "is-pinned": {
    ...withCard(card("JSONRPC 1.0"), /^failed: .*1\.0 of A2A only, .*is 0\.3.*"highest"/),
    more: { version: "0.3" },
  },
  "is-nowhere": withCard(
    html(404),
    /^failed: There is no agent card at its address \(HTTP 404\) .*agent-card\.json/,
  ),
  "is-a-page": withCard(html(200), /^failed: The card's address returns a web page/),
  "is-a-page-as-json": withCard(
    () => raw("<!doctype html>"),
    /^failed: The card's address returns a web page/,
  ),
  "is-broken": withCard(
    () => raw('{"name": "an ag'),
    /^failed: The card's address returns something that is not JSON/,
  ),
  "is-foreign": withCard(
    () => json({ name: "left-pad", version: "1.3.0" }),
    /^failed: The JSON at the card's address is not the agent card.*no address to call/,
  ),
  "is-null": withCard(() => json(null), /^failed: The JSON at the card's address is not the agent/),
  "is-hostile": withCard(
    card(
      "\u001b[31mbad 1",
      `${"x".repeat(2000)} 1`,
      ...[..."abcdefghijk"].map((name) => `${name} 1`),
    ),
    /^failed: Its agent card offers \[31mbad, x{60}.* and more only/,
  ),
  "is-huge": withCard(
    () => json({ name: "x".repeat(300_000) }),
    /^failed: Its agent card is larger than 256 KiB/,
  ),
  "is-elsewhere": withCard(
    (call) => card("JSONRPC 1.0")({ ...call, base: "https://elsewhere.example/" }),
    /^failed: .*address at another origin.* set the destination's url/,
  ),
  "hides-its-card": withCard(() => json({}, { status: 401 }), /^failed: It could not authenticate/),
  "refuses-calls": {
    card: card("JSONRPC 1.0"),
    answer: () => raw("", { status: 403 }),
    found: /^failed: It denied access to the caller.*\(HTTP 403\)/,
  },
  "knows-no-tasks": {
    card: card("JSONRPC 1.0"),
    answer: error(-32601, "?"),
    found: /^failed: .*error -32601, /,
  },
};

const others: Record<string, Answer> = {
  healthy: (call) => result(call, document),
  "is-silent": ({ signal }) => silence({ signal }),
};

beforeAll(async () => {
  peer = await startWebServer({
    async handle(call) {
      requests.push(call);
      // The host of this machine is found by its own card.
      if (call.target === "/healthz") return new Response('{"status":"ok"}');
      const target = call.target.replace("/.well-known/agent-card.json", "/a2a/speaks-both");
      const [, kind = "", name = ""] = target.split("/");
      const namedPeer: Partial<Peer> = (kind === "a2a" ? agents : peers)[name] ?? {};
      const { answer = others[name], card, models } = namedPeer;
      const base = `${peer.url}/${kind}/${name}`;
      const { signal } = call.request;
      if (target.includes("/tasks/"))
        return answer?.({ id: "", base, params: {}, signal }) ?? raw("", { status: 404 });
      if (call.request.method === "GET") {
        const document = target.endsWith("/v1/models") ? models : card;
        return document?.({ id: "", base, params: {}, signal }) ?? raw("", { status: 404 });
      }
      const { id, params } = JSON.parse(Buffer.from(call.body).toString());
      return answer?.({ id, base, params, signal }) ?? raw("", { status: 404 });
    },
  });
});
beforeEach(() => {
  requests = [];
});
afterAll(async () => {
  await peer.close();
  machine.close();
});

const bearer = { type: "bearer", token: { env: "PEER_TOKEN" } };
const at = (url: string, authorizer: unknown = bearer) => ({ transport: "https", url, authorizer });
const healthy = (authorizer?: unknown) => at(`${peer.url}/rpc/healthy`, authorizer);

async function check(
  destinations: Record<string, unknown>,
  { env = {}, limits = longestLimits, args = [] as string[] } = {},
) {
  machine.write({ destinations, routes: [], limits, execution: { syncBudgetMs: 100 } });
  const ports = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
  const report = await machine.doctor({ ...ports, PEER_TOKEN: token, ...env }, ...args);
  expect(report.stdout + report.stderr).not.toContain(token);
  return report;
}

async function shownAll(tried: Record<string, Peer>, toDestination: (name: string) => object) {
  const names = Object.entries(tried).map(([name, { more }]) => {
    return [name, { ...toDestination(name), ...more }];
  });
  const report = await check(Object.fromEntries(names));
  return Object.fromEntries(Object.keys(tried).map((name) => [name, shownText(report, name)]));
}

const expectedResult = (tried: Record<string, Peer>) =>
  Object.fromEntries(
    Object.entries(tried).map(([name, { found: check }]) => [name, expect.stringMatching(check)]),
  );

describe("sekisho doctor and destinations", () => {
  it("authenticates and calls rpc.discover twice, only at the named destination", async () => {
    const destinations = { one: healthy(), two: at(`${peer.url}/rpc/refuses`) };
    const report = await check(destinations, { args: ["--destination", "one"] });
    expect(report).toMatchObject({ code: 0, stderr: "", checks: [{ name: "one" }] });
    expect(shownText(report, "one")).toMatch(/^ok: A peer\[31m 7 \(http.*, first call \d+ ms, sec/);
    expect(requests).toHaveLength(2);
    for (const { request, body } of requests) {
      expect(request.headers.get("authorization")).toBe(`Bearer ${token}`);
      expect(JSON.parse(body.toString())).toMatchObject({ method: "rpc.discover" });
    }
  });

  it("recognizes our own host, also in the same process", async () => {
    const report = await check({ here: { transport: "in-process" } });
    expect(shownText(report, "here")).toContain(`ok: Sekisho zone contract ${contractVersion}`);
    const overA2a = await check({ here: { transport: "in-process", protocol: "a2a" } });
    expect(shownText(overA2a, "here")).toContain("ok: Sekisho, A2A 1.0 at http://in-process/");
  });

  it("explains why each unusable destination fails, and what to do", async () => {
    const check = await shownAll(peers, (name) => at(`${peer.url}/rpc/${name}`));
    expect(check).toEqual(expectedResult(peers));
  });

  it("reports how long it waited for a silent destination", async () => {
    const report = await check(
      { one: at(`${peer.url}/rpc/is-silent`) },
      { limits: { ...longestLimits, callTimeoutMs: 400 } },
    );
    expect(shownText(report, "one")).toMatch(/^failed: It did not answer within 0\.4 s /);
  });

  it("reports the error of the network or of TLS", async () => {
    const tls = await startTlsPeer({ authority: await createAuthority("own"), required: false });
    const report = await check({
      nobody: at(`https://127.0.0.1:${await freePort()}/`),
      untrusted: at(tls.url),
      clear: at(peer.url.replace("http:", "https:")),
    });
    await tls.close();
    expect(shownText(report, "nobody")).toMatch(
      /^failed: Nothing is listening.* → Check that it is/,
    );
    expect(shownText(report, "untrusted")).toMatch(/^failed: The certificate .* is not trusted/);
    expect(shownText(report, "clear")).toMatch(/^failed: The TLS handshake with .* failed/);
  });

  it("shows what the card of each A2A agent says, or why the agent cannot be used", async () => {
    const toAgent = (name: string) => {
      return { transport: "a2a", card: `${peer.url}/a2a/${name}/card`, authorizer: bearer };
    };
    expect(await shownAll(agents, toAgent)).toEqual(expectedResult(agents));
    const ofOne = requests.filter(({ target }) => target.startsWith("/a2a/speaks-both"));
    const tokens = ofOne.map(({ request }) => request.headers.get("authorization"));
    expect(tokens).toEqual(tokens.map(() => `Bearer ${token}`));
    const calls = ofOne.filter(({ request }) => request.method === "POST");
    const methods = calls.map(({ body }) => JSON.parse(Buffer.from(body).toString()).method);
    expect(methods).toEqual(["GetTask", "GetTask"]);
    const { port } = new URL(peer.url);
    const moved = { ...toAgent("is-elsewhere"), url: `${peer.url}/a2a/knows-every-task` };
    const own = { transport: "a2a" };
    const more = await check({ moved, own }, { env: { SEKISHO_EXECUTION_PORT: port } });
    expect(shownText(more, "moved")).toContain(`A2A 1.0 at ${moved.url}`);
    expect(shownText(more, "own")).toMatch(/^ok: An agent/);
  });
});

describe("sekisho doctor and a destination with AWS credentials", () => {
  let aws: AwsServices;
  beforeEach(async () => {
    aws = await startAwsServices({ account: "111111111111" });
  });
  afterEach(() => aws.close());
  const region = "eu-central-1";

  it("shows the identity behind the AWS credentials", async () => {
    const signed = healthy({ type: "sigv4", service: "lambda", region });
    const report = await check({ signed }, { env: aws.env });
    expect(shownText(report, "AWS credentials")).toMatch(
      /^ok: arn:aws:iam::1{12}:user\/operator\./,
    );
    expect(requests[0]?.request.headers.get("authorization")).toContain("AWS4-HMAC-SHA256");
  });

  it.each([
    ["OutboundWebIdentityFederationDisabledException", 403, /sekisho federation enable/],
    ["AccessDenied", 403, /AWS STS denied access/],
    ["ValidationError", 400, /issuer refused the request \(ValidationError\)/],
  ])("explains why there is no credential: %s", async (name, status, pattern) => {
    aws.refusals.set("sts:GetWebIdentityToken", { status, name });
    const federated = healthy({ type: "web-identity", audience: "agents", region });
    expect(shownText(await check({ federated }, { env: aws.env }), "federated")).toMatch(pattern);
    const { AWS_ENDPOINT_URL = "" } = aws.env;
    const env = { AWS_EC2_METADATA_DISABLED: "true", HOME: machine.folder, AWS_ENDPOINT_URL };
    const without = await check({ federated }, { env });
    expect(shownText(without, "federated")).toContain("No AWS credentials were found");
    expect(shownText(without, "AWS credentials")).toMatch(/^failed: .* → Set AWS_PROFILE/);
    expect(requests).toHaveLength(0);
  });
});
