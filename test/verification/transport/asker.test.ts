/** The asker's token on each transport: which requests carry it, and what it says of the very bytes that arrive. */
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { MethodName } from "@sekisho/contracts/methods.ts";
import type { AskerSigner, CallAsker } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  createDestinations,
  type DestinationDependencies,
} from "@sekisho/verification/destinations.ts";
import type { BindingName } from "@sekisho/verification/transport/carrier.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import { tapTransport } from "@sekisho/verification/transport/tap.ts";
import { decodeJwt, jwtVerify } from "jose";
import { createA2aPeer } from "../../doubles/a2a-peer.ts";
import { startAgentCoreStub } from "../../doubles/agentcore-stub.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { createPeer, type Script } from "../../doubles/execution-peer.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { credentials, runtimeArn } from "./agentcore/sample.ts";

const issuer = "https://asker.example";
const clientId = "arn:aws:iam::111111111111:role/sekisho-prod-verification";
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const signer: AskerSigner = {
  algorithm: "ES256",
  async sign({ textOf }) {
    const text = textOf("key-1");
    const key = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
    return { text, signature: sign("sha256", Buffer.from(text), key) };
  },
};
const secretToken = "the-shared-token";
const asker: CallAsker = {
  person: { team: "T1", user: "U1", channel: "C1", thread: "1.1" },
  requestId: randomUUID(),
  isOwnWord: true,
};

/** One request as the peer, or AWS in front of it, received it. */
type Arrival = { method: string; about: string; body: Uint8Array; headers: Headers };

type Peer = {
  config: Record<string, unknown>;
  dependencies?: Partial<DestinationDependencies>;
  audience: string;
  close(): Promise<void>;
};
type Handle = (request: Request) => Promise<Response>;
type Protocol = { version?: A2aVersion | undefined; binding?: BindingName; path: string };

type TransportCase = Protocol & {
  name: string;
  /** `note` gets each request. */
  start(request: { handle: Handle; note: (request: Request) => Promise<void> }): Promise<Peer>;
};

async function startHttp(options: {
  handle: Handle;
  note: (request: Request) => Promise<void>;
  toConfig: (url: string) => { config: Record<string, unknown>; audience: string };
}): Promise<Peer> {
  const { handle, note, toConfig } = options;
  const { url, close } = await startWebServer({
    async handle({ request }) {
      await note(request);
      return handle(request);
    },
  });
  return { ...toConfig(url), close };
}

const https: TransportCase = {
  name: "https",
  path: "/",
  start: (peer) =>
    startHttp({
      ...peer,
      toConfig: (url) => ({ config: { transport: "https", url }, audience: url }),
    }),
};

const overA2a = (version: A2aVersion, binding: BindingName): TransportCase => ({
  name: `a2a ${version} ${binding}`,
  ...{ version, binding, path: "/a2a" },
  start: (peer) =>
    startHttp({
      ...peer,
      toConfig(url) {
        const card = `${url}${agentCardPath}`;
        return { config: { transport: "a2a", card }, audience: card };
      },
    }),
});

const overAgentCore = (version?: A2aVersion): TransportCase => ({
  name: `agentcore${version === undefined ? "" : " with the protocol a2a"}`,
  ...{ version, path: "/" },
  async start({ handle, note }) {
    const stub = await startAgentCoreStub({
      ...{ handle, runtimeArn, credentials },
      ...(version && { protocol: "A2A", allowedHeaders: ["A2A-Version"] }),
      fault(request) {
        void note(request.clone());
        return undefined;
      },
    });
    const config = { transport: "agentcore", runtimeArn, endpoint: stub.endpoint };
    return {
      config: { ...config, ...(version && { protocol: "a2a" }) },
      audience: runtimeArn,
      async close() {
        await stub.close();
        expect(stub.problems).toEqual([]);
      },
    };
  },
});

const inProcess = (version?: A2aVersion): TransportCase => ({
  name: `in-process${version === undefined ? "" : " with the protocol a2a"}`,
  ...{ version, path: "/" },
  async start({ handle, note }) {
    const noted: Handle = async (request) => {
      await note(request);
      return handle(request);
    };
    return {
      config: { transport: "in-process", ...(version && { protocol: "a2a" }) },
      dependencies: { handle: noted },
      audience: "sekisho",
      async close() {},
    };
  },
});

const withUrl = [
  https,
  overA2a("1.0", "JSONRPC"),
  overA2a("0.3", "JSONRPC"),
  overA2a("1.0", "HTTP+JSON"),
  overA2a("0.3", "HTTP+JSON"),
];
const transports = [
  ...withUrl,
  overAgentCore(),
  overAgentCore("1.0"),
  inProcess(),
  inProcess("1.0"),
];

type Style = {
  name: string;
  asker?: true | { header: string };
  authorizer?: { type: "asker" };
  /** In lower case. */
  header: string;
};
const ownHeader: Style = { name: "a header of its own", asker: true, header: "sekisho-asker" };
const styles: readonly Style[] = [
  ownHeader,
  { name: "another header", asker: { header: "X-Who-Asks" }, header: "x-who-asks" },
  { name: "the bearer", authorizer: { type: "asker" }, header: "authorization" },
];

const rows = transports.flatMap((transport) =>
  styles
    .filter((style) => style.name !== "the bearer" || withUrl.includes(transport))
    .map((style) => [transport.name, style.name, transport, style] as const),
);

/** Each transport with a header, and one with the bearer: the slow tests, because their requests are repeated after a pause. */
const fewRows = rows.filter(
  ([, , transport, style]) =>
    style === ownHeader || (transport === https && style.name === "the bearer"),
);

const success: Script = ({ id }) =>
  Response.json({ jsonrpc: "2.0", id, result: { status: "accepted", task_id: "t-1" } });

const answers: Partial<Record<string, object>> = {
  cancel_task: { status: "canceled", task_id: "t-1" },
  feedback: { status: "recorded", task_id: "t-1" },
};
const answerAll: Script = (call) =>
  answers[call.method] === undefined
    ? success(call)
    : Response.json({ jsonrpc: "2.0", id: call.id, result: answers[call.method] });

/** A destination with its peer. `arrivals` are all requests in order, and `tokenOf` takes the token from one. */
async function open(
  transport: TransportCase,
  style: Style,
  options: {
    script?: Script;
    settings?: object;
    askerTokens?: DestinationDependencies["askerTokens"];
    dependencies?: Partial<DestinationDependencies>;
  } = {},
) {
  const { script = answerAll, settings = {} } = options;
  const { askerTokens = createAskerTokens({ issuer, clientId, signer }) } = options;
  const { version, binding, path } = transport;
  const { handle } =
    version === undefined
      ? createPeer({ script })
      : createA2aPeer({ script, version, path, ...(binding && { binding }) });
  const arrivals: Arrival[] = [];
  const peer = await transport.start({
    handle,
    async note(request) {
      const body = new Uint8Array(await request.clone().arrayBuffer());
      const about = `${request.method} ${new URL(request.url).pathname} ${Buffer.from(body)}`;
      arrivals.push({ method: request.method, about, body, headers: request.headers });
    },
  });
  const { asker: told, authorizer } = style;
  const destination = {
    ...peer.config,
    ...(told && { asker: told }),
    ...(authorizer && { authorizer }),
    ...settings,
  };
  const json = { asker: { issuer }, destinations: { host: destination } };
  const config = parseConfig({ json: { ...json, routes: [{ destination: "host" }] } });
  const destinations = createDestinations({
    config,
    readSecret: async () => secretToken,
    botTokenOf: async () => "",
    credentials: async () => credentials,
    log: silentLog,
    askerTokens,
    ...peer.dependencies,
    ...options.dependencies,
  });
  const client = destinations.get("host")?.client;
  if (client === undefined) throw new Error("There is no way to the peer.");
  return {
    client,
    arrivals,
    audience: peer.audience,
    tokenOf({ headers }: Arrival) {
      return headers.get(style.header)?.replace(/^Bearer /, "");
    },
    async close() {
      await client.close();
      await peer.close();
    },
  };
}

const params = {
  execute_task: { channel: "C1", text: "Kantō" },
  get_task: { task_id: "t-1" },
  answer_task: { task_id: "t-1", text: "yes", user_id: "U2" },
  cancel_task: { task_id: "t-1" },
  feedback: {
    task_id: "t-1",
    vote: "up",
    voter_id: "v".repeat(32),
    voted_at: "2026-11-30T00:00:00.000Z",
  },
} as const;

function call(
  client: ExecutionClient,
  method: MethodName,
  options: {
    asker?: CallAsker | undefined;
    id?: string;
    timeoutMs?: number;
    params?: object;
  } = {},
) {
  return client.call({
    method,
    id: randomUUID(),
    requestId: randomUUID(),
    sessionId: "s".repeat(40),
    timeoutMs: 20_000,
    trace: createTrace(),
    ...options,
    params: (options.params ?? params[method as keyof typeof params]) as never,
  });
}

const isCard = ({ about }: Arrival) => about.includes(agentCardPath);
const isWord = ({ about }: Arrival) =>
  /"method":"(execute_task|answer_task|SendMessage|message\/send)"|message:send/.test(about);
const poll = { ...asker, isOwnWord: false };
const answerer = { ...asker, person: { ...asker.person, user: "U2" } };

describe("the asker's token", () => {
  it.each(rows)("over %s in %s names who speaks in each request", async (...row) => {
    const [, , transport, style] = row;
    const { client, arrivals, audience, tokenOf, close } = await open(transport, style);
    try {
      await call(client, "execute_task", { asker });
      await call(client, "get_task", { asker: poll });
      await call(client, "get_task", { asker: poll });
      await call(client, "answer_task", { asker: answerer });
      await call(client, "cancel_task", { asker: poll });
      if (transport.version === undefined) await call(client, "feedback", { asker: poll });
    } finally {
      await close();
    }
    const calls = arrivals.filter((arrival) => !isCard(arrival));
    const wordTokens = calls
      .filter(isWord)
      .map((arrival) => ({ ...arrival, token: tokenOf(arrival) }));
    expect(wordTokens).toHaveLength(2);
    for (const { token = "", body } of wordTokens) {
      const options = { issuer, audience, typ: "at+jwt", algorithms: ["ES256"] };
      const { payload } = await jwtVerify(token, publicKey, options);
      expect(payload).toMatchObject({
        act: { sub: clientId },
        request_id: asker.requestId,
        body_sha256: createHash("sha256").update(body).digest("hex"),
      });
    }
    const subjects = wordTokens.map(({ token = "" }) => decodeJwt(token).sub);
    expect(subjects).toEqual(["slack:T1:U1", "slack:T1:U2"]);
    const otherTokens = calls.filter((arrival) => !isWord(arrival)).map(tokenOf);
    // An answer over A2A may read the task first, for the person who answers.
    expect(new Set(otherTokens).size).toBeLessThanOrEqual(2);
    expect(otherTokens.length).toBeGreaterThanOrEqual(3);
    for (const token of otherTokens) {
      expect(decodeJwt(token ?? "")).toMatchObject({ aud: audience, act: { sub: clientId } });
      expect(decodeJwt(token ?? "")).not.toHaveProperty("body_sha256");
    }
    const jtis = [...wordTokens.map(({ token }) => token), ...new Set(otherTokens)].map(
      (token) => decodeJwt(token ?? "").jti,
    );
    expect(new Set(jtis).size).toBe(jtis.length);
    const cardTokens = arrivals.filter(isCard).map(tokenOf);
    expect(cardTokens).toHaveLength(transport.version === undefined ? 0 : 1);
    for (const token of cardTokens) {
      const isBearer = style.name === "the bearer";
      expect(token && decodeJwt(token).sub).toBe(
        isBearer ? clientId : token === null ? null : undefined,
      );
    }
  });

  it.each(rows)("over %s in %s is no person's in a call of the zone itself", async (...row) => {
    const [, , transport, style] = row;
    const { client, arrivals, tokenOf, close } = await open(transport, style);
    try {
      await call(client, "get_task");
    } finally {
      await close();
    }
    const subjects = arrivals.map(tokenOf).map((token) => token && decodeJwt(token).sub);
    expect(new Set(subjects).size).toBe(1);
    expect(subjects[0] ?? undefined).toBe(style.name === "the bearer" ? clientId : undefined);
  });

  it.each(fewRows)("over %s in %s must be there, or nothing is sent", async (...row) => {
    const [, , transport, style] = row;
    let isBroken = false;
    let failures = 0;
    const working = createAskerTokens({ issuer, clientId, signer });
    const askerTokens: typeof working = {
      async issue(request) {
        if (!isBroken) return working.issue(request);
        failures += 1;
        throw new Error("The key is unreadable.");
      },
    };
    const { client, arrivals, close } = await open(transport, style, { askerTokens });
    try {
      // Reads the card, which needs no person's token.
      await call(client, "get_task", { asker: poll });
      arrivals.length = 0;
      isBroken = true;
      const failure = call(client, "execute_task", { asker, timeoutMs: 2000 });
      await expect(failure).rejects.toMatchObject({
        reason: "unavailable",
        certainty: "undelivered",
      });
      expect(arrivals).toEqual([]);
      expect(failures).toBeGreaterThan(1);
      isBroken = false;
      await call(client, "execute_task", { asker });
      expect(arrivals.filter(isWord)).toHaveLength(1);
    } finally {
      await close();
    }
  });

  // AgentCore does not say of an A2A agent's 429 that nothing was done, so nothing is repeated.
  const repeatedRows = fewRows.filter(([name]) => name !== "agentcore with the protocol a2a");
  it.each(repeatedRows)("over %s in %s changes with each attempt", async (...row) => {
    const [, , transport, style] = row;
    let words = 0;
    const script: Script = (request) => {
      if (request.method !== "execute_task") return success(request);
      words += 1;
      return words === 1 ? new Response(null, { status: 429 }) : success(request);
    };
    const { client, arrivals, tokenOf, close } = await open(transport, style, { script });
    try {
      await call(client, "execute_task", { asker });
    } finally {
      await close();
    }
    const claims = arrivals.filter(isWord).map((arrival) => decodeJwt(tokenOf(arrival) ?? ""));
    expect(claims).toHaveLength(2);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(2);
  });
});

describe("the asker's token of an answer over A2A", () => {
  it("covers no body when the task is read before the answer is sent", async () => {
    const { client, arrivals, tokenOf, close } = await open(overA2a("1.0", "JSONRPC"), ownHeader);
    const answer = { task_id: "t-1", option_id: "hitl-0123456789abcdef-yes", user_id: "U2" };
    try {
      await call(client, "answer_task", { asker: answerer, params: answer }).catch(() => {});
    } finally {
      await close();
    }
    const [reading] = arrivals.filter(({ about }) => about.includes("GetTask"));
    const claims = decodeJwt((reading && tokenOf(reading)) ?? "");
    expect(claims.sub).toBe("slack:T1:U2");
    expect(claims).not.toHaveProperty("body_sha256");
  });
});

describe("the asker's token beside another authorizer", () => {
  it("changes when the request is repeated after a 401", async () => {
    const script: Script = (request) =>
      request.count === 1 ? new Response(null, { status: 401 }) : success(request);
    const authorizer = { type: "bearer", token: { env: "SEKISHO_TEST_TOKEN" } };
    const { client, arrivals, tokenOf, close } = await open(https, ownHeader, {
      script,
      settings: { authorizer },
    });
    try {
      await call(client, "execute_task", { asker });
    } finally {
      await close();
    }
    const claims = arrivals.map((arrival) => decodeJwt(tokenOf(arrival) ?? ""));
    expect(claims.map(({ sub }) => sub)).toEqual(["slack:T1:U1", "slack:T1:U1"]);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(2);
    expect(arrivals.map(({ headers }) => headers.get("authorization"))).toEqual(
      Array(2).fill(`Bearer ${secretToken}`),
    );
  });

  it.each([
    [
      "https with sigv4",
      https,
      { authorizer: { type: "sigv4", service: "lambda", region: "eu-central-1" } },
    ],
    ["agentcore", overAgentCore(), {}],
    ["agentcore with the protocol a2a", overAgentCore("1.0"), {}],
  ])("belongs to what AWS's signature covers: %s", async (_name, transport, settings) => {
    const { client, arrivals, close } = await open(transport, ownHeader, { settings });
    try {
      await call(client, "execute_task", { asker });
    } finally {
      await close();
    }
    const [authorization] = arrivals
      .filter(isWord)
      .map(({ headers }) => headers.get("authorization"));
    const signedHeaders = /SignedHeaders=([^,]+)/.exec(authorization ?? "")?.[1]?.split(";");
    expect(signedHeaders).toContain(ownHeader.header);
  });
});

describe("the asker's token of a peer that repeats what it was sent", () => {
  const echo: Script = ({ id, headers }) => {
    const text = [headers.get("sekisho-asker"), headers.get("authorization")].join(" ");
    return id === "fails"
      ? Response.json({ jsonrpc: "2.0", id, error: { code: -32_000, message: text } })
      : Response.json({ jsonrpc: "2.0", id, result: { status: "success", response_text: text } });
  };

  it.each([
    ["a header of its own", ownHeader],
    ["the bearer", { name: "the bearer", authorizer: { type: "asker" }, header: "authorization" }],
  ] as const)("appears in no log line, no error and on no page: %s", async (_name, style) => {
    const { log, lines } = collectLog({ level: "debug" });
    const entries: unknown[] = [];
    const tap = (entry: unknown) => void entries.push(entry);
    const wrap: DestinationDependencies["wrap"] = ({ transport }) =>
      tapTransport({ transport, tap });
    const { client, arrivals, tokenOf, close } = await open(https, style, {
      script: echo,
      dependencies: { log, wrap },
    });
    const errors: string[] = [];
    try {
      await call(client, "execute_task", { asker });
      const failure = call(client, "execute_task", { asker, id: "fails" });
      await failure.catch((error: Error) => errors.push(inspect(error, { depth: 9 })));
    } finally {
      await close();
    }
    const tokens = arrivals.flatMap((arrival) => tokenOf(arrival) ?? []);
    expect(tokens).toHaveLength(2);
    expect(lines.length).toBeGreaterThan(1);
    expect([entries.length, errors.length]).toEqual([4, 1]);
    const shownText = `${lines.join()} ${JSON.stringify(entries)} ${errors.join()}`;
    for (const token of tokens) {
      const [, claims = "", signature = ""] = token.split(".");
      expect(shownText).not.toContain(claims);
      expect(shownText).not.toContain(signature);
    }
  });
});
