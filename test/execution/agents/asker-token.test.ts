/** Built-in agents and the token that the host has received: they trade it or send nothing of it, whatever their peer is told. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { placeholders } from "@sekisho/config/request-template.ts";
import {
  type AgentContext,
  type AgentTask,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { createBedrockAgent } from "@sekisho/execution/agents/bedrock.ts";
import { loadAgent } from "@sekisho/execution/agents/load-agent.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { startExchangeServer, subjectOf } from "../../doubles/issuers/exchange-server.ts";
import { closeAfterTest, serve } from "../../doubles/serving.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { agentContext, agentTask, memoryConversation } from "./agent-context.ts";

const endpoint = "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE";
const harnessArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:harness/agent-AbCdEf1234";
const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "of-nobody" };

afterEach(() => {
  for (const name of [endpoint, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
    delete process.env[name];
});

const verifier = { mode: "optional", zones: [{ issuer: "https://asker.example" }] };

/** The token of a person, as the host gives it to its agents. */
const tokenOf = (subject: string) => `received-token-of-${subject}`;

const sharedConversation = memoryConversation();

function contextOf(subject: string, more: Partial<AgentContext> = {}) {
  const { log, entries } = collectLog({ service: "execution" });
  const context: AgentContext = {
    ...agentContext(undefined, log),
    // The host has one for all tasks that keep nothing.
    conversation: sharedConversation,
    contextId: "3f0f6b0e-5a35-8b0c-9d5e-0d7d5a6f3a11",
    asker: { subject, issuer: "https://asker.example", zone: "a-zone", team: "T1", user: "U1" },
    askerToken: tokenOf(subject),
    ...more,
  };
  return { context, entries };
}

const task: AgentTask = agentTask({
  text: "Hello {askerToken} {asker}",
  user_id: "U1",
  team_id: "T1",
  channel: "C1",
  history: [{ role: "user", text: "Earlier" }],
});

/** A server that keeps all that is sent to it, as text. It answers nothing useful, so every agent ends soon. */
async function startCapture() {
  const requests: { authorization: string | null; text: string }[] = [];
  const server = closeAfterTest(
    await startWebServer({
      async handle({ request, target, body }) {
        const text = [target, JSON.stringify([...request.headers]), Buffer.from(body)].join("\n");
        requests.push({ authorization: request.headers.get("authorization"), text });
        return Response.json({ error: "no" }, { status: 422 });
      },
    }),
  );
  return { url: server.url, requests };
}

type Authorizer = Record<string, unknown> | undefined;

/** Each agent's configuration for a peer at this address. */
const remoteAgents: Record<string, (url: string, authorizer: Authorizer) => object> = {
  http: (url, authorizer) => ({
    ...{ type: "http", url: `${url}/{session}`, authorizer },
    request: Object.fromEntries(
      Object.keys(placeholders)
        .filter((name) => name !== "conversation" && name !== "reply")
        .map((name) => [name, `{${name}}`]),
    ),
  }),
  responses: (baseUrl, authorizer) => ({ type: "responses", baseUrl, authorizer, model: "m" }),
  "ag-ui": (url, authorizer) => ({ type: "ag-ui", url, authorizer }),
  harness(url, authorizer) {
    process.env[endpoint] = url;
    process.env.AWS_ACCESS_KEY_ID = credentials.accessKeyId;
    process.env.AWS_SECRET_ACCESS_KEY = credentials.secretAccessKey;
    return { type: "harness", harnessArn, authorizer };
  },
};
const agents: typeof remoteAgents = {
  ...remoteAgents,
  "openai-compatible": (url) => ({ type: "openai-compatible", baseUrl: url, model: "m" }),
};

async function runConfigured(agent: object, context: AgentContext): Promise<TaskUpdate[]> {
  const { execution } = parseConfig({ json: { execution: { agent, asker: verifier } } });
  const readSecret = async () => "secret";
  const loaded = await loadAgent({ agent: execution.agent, cwd: ".", readSecret });
  return collect(loaded, context);
}

async function collect(agent: Parameters<typeof runAgent>[0], context: AgentContext) {
  const updates: TaskUpdate[] = [];
  for await (const update of runAgent(agent, task, context)) updates.push(update);
  return updates;
}

describe("the token that the host has received", () => {
  it.each(Object.keys(agents))("goes nowhere with the agent %s", async (name) => {
    const peer = await startCapture();
    const { context } = contextOf("alice");
    await runConfigured(agents[name]?.(peer.url, undefined) ?? {}, context);
    expect(peer.requests.length).toBeGreaterThan(0);
    for (const { text } of peer.requests) {
      expect(text).not.toContain(tokenOf("alice"));
      expect(text.toLowerCase()).not.toContain("sekisho-asker");
    }
  });

  it("goes nowhere with the agent bedrock", async () => {
    const peer = await startCapture();
    const agent = createBedrockAgent({
      ...{ modelId: "maker.model-v1:0", region: "eu-central-1" },
      clientConfig: { endpoint: peer.url, credentials },
    });
    const { context } = contextOf("alice");
    await collect(agent, context).catch(() => []);
    expect(peer.requests.length).toBeGreaterThan(0);
    for (const { text } of peer.requests) expect(text).not.toContain(tokenOf("alice"));
  });

  it("stays out of the answers of the agent echo", async () => {
    const { context } = contextOf("alice");
    const updates = JSON.stringify(await runConfigured("echo" as never, context));
    expect(updates).toContain("Hello {askerToken} {asker}");
    expect(updates).not.toContain(tokenOf("alice"));
  });
});

async function startTrade() {
  const server = closeAfterTest(
    await startExchangeServer({
      readSubject: (token) => /^received-token-of-(\w+)$/.exec(token)?.[1],
      client: { id: "the-host", secret: "secret" },
    }),
  );
  const authorizer = {
    ...{ type: "token-exchange", tokenUrl: server.tokenUrl, clientId: "the-host" },
    clientSecret: { env: "SECRET" },
  };
  return { server, authorizer };
}

describe.each(Object.keys(remoteAgents))("the agent %s with a token exchange", (name) => {
  const configOf = remoteAgents[name] ?? (() => ({}));

  it("calls its peer with what the person's token was traded for", async () => {
    const { server, authorizer } = await startTrade();
    const peer = await startCapture();
    const { context } = contextOf("alice");
    await runConfigured(configOf(peer.url, authorizer), context);
    expect(server.subjects).toEqual(["alice"]);
    const bearers = peer.requests.map(({ authorization }) => authorization?.split(" ")[1] ?? "");
    expect(new Set(bearers.map(subjectOf))).toEqual(new Set(["alice"]));
    for (const { text } of peer.requests) expect(text).not.toContain(tokenOf("alice"));
  });

  it.each<[string, Partial<AgentContext>]>([
    ["nobody was verified", { asker: undefined, askerToken: undefined }],
    ["the token is not there any more", { askerToken: undefined }],
  ])("calls nobody and fails if %s", async (_title, more) => {
    const { server, authorizer } = await startTrade();
    const peer = await startCapture();
    const { context, entries } = contextOf("alice", more);
    const updates = await runConfigured(configOf(peer.url, authorizer), context);
    expect(updates.at(-1)).toEqual({ type: "failure", reason: "execution_failed", lost: false });
    expect([...server.asked, ...peer.requests]).toEqual([]);
    expect(entries().map(({ cause_kind }) => cause_kind)).toEqual([
      "the authorizer has no credentials: NoAskerToken",
    ]);
  });
});

describe("an agent elsewhere with a token exchange", () => {
  async function openHttpAgent() {
    const { server, authorizer } = await startTrade();
    const bearers: string[] = [];
    const peer = await serve(({ request: { headers } }) => {
      bearers.push(subjectOf(headers.get("authorization")?.split(" ")[1] ?? ""));
      return Response.json("done");
    });
    const { execution } = parseConfig({
      json: { execution: { agent: { type: "http", url: peer.url, authorizer }, asker: verifier } },
    });
    const agent = await loadAgent({
      ...{ agent: execution.agent, cwd: ".", readSecret: async () => "secret" },
    });
    return { server, bearers, run: (context: AgentContext) => collect(agent, context) };
  }

  it("acts as each of two people who ask at once", async () => {
    const { server, bearers, run } = await openHttpAgent();
    const people = ["alice", "bob", "alice", "bob"];
    await Promise.all(people.map((person) => run(contextOf(person).context)));
    expect(bearers.toSorted()).toEqual(people.toSorted());
    expect(server.subjects.toSorted()).toEqual(["alice", "bob"]);
  });

  it("does not act as a person of an earlier task for a task without a token", async () => {
    const { bearers, run } = await openHttpAgent();
    await run(contextOf("alice").context);
    const updates = await run(contextOf("alice", { askerToken: undefined }).context);
    expect(updates.at(-1)).toMatchObject({ type: "failure" });
    expect(bearers).toEqual(["alice"]);
  });

  it("goes on in a turn whose token has expired with what it was traded for", async () => {
    const { bearers, run } = await openHttpAgent();
    const { context } = contextOf("alice");
    await run(context);
    await run({ ...context, askerToken: undefined });
    expect(bearers).toEqual(["alice", "alice"]);
  });

  it("does not act as one person for another whose token is not there any more", async () => {
    const { bearers, run } = await openHttpAgent();
    const { context } = contextOf("alice");
    await run(context);
    const { asker } = contextOf("bob").context;
    await run({ ...context, asker, askerToken: undefined });
    expect(bearers).toEqual(["alice"]);
  });

  it("tells apart people whom two issuers name alike", async () => {
    const { server, run } = await openHttpAgent();
    const { context } = contextOf("alice");
    const { asker } = context;
    await run(context);
    await run({ ...context, ...(asker && { asker: { ...asker, issuer: "https://b.example" } }) });
    expect(server.subjects).toEqual(["alice", "alice"]);
  });
});
