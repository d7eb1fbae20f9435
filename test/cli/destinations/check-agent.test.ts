/** `sekisho destinations check` of A2A agents over real sockets: their cards, and whether they accept calls. */
import "reflect-metadata";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { json, raw } from "../../doubles/answers.ts";
import { type Received, startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { writeConfig } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-check-agent-"));
const token = "a-token-of-this-test";

let peer: WebServer;
let received: Received[] = [];
/** The card at `/NAME/card`, and the answer of `/NAME` to a call. */
type Answer = (call: { id: string; base: string; asked: string }) => Response;
const rpc = (call: { id: string }, answer: object) => json({ jsonrpc: "2.0", id: call.id, ...answer });
const unknownTask: Answer = (call) => rpc(call, { error: { code: -32001, message: "Task not found" } });
const cardAt =
  (...versions: string[]): Answer =>
  ({ base }) => {
    const supportedInterfaces = versions.map((version) => ({
      ...{ url: base, protocolBinding: "JSONRPC", protocolVersion: version },
    }));
    return json({ name: "An agent\u001b[31m", supportedInterfaces, capabilities: {} });
  };
const agents: Record<string, { card: Answer; call: Answer }> = {
  "speaks-both": { card: cardAt("0.3", "1.0"), call: unknownTask },
  "knows-every-task": {
    card: cardAt("1.0"),
    call: (call) => rpc(call, { result: { id: call.asked, contextId: "c", status: { state: "TASK_STATE_WORKING" } } }),
  },
  "is-too-old": { card: cardAt("0.2.6"), call: unknownTask },
  "is-a-page": { card: () => new Response("<html>", { headers: { "content-type": "text/html" } }), call: unknownTask },
  "is-elsewhere": { card: (call) => cardAt("1.0")({ ...call, base: "https://elsewhere.example/" }), call: unknownTask },
  "hides-its-card": { card: () => json({}, { status: 401 }), call: unknownTask },
  "refuses-calls": { card: cardAt("1.0"), call: () => raw("", { status: 403 }) },
  "knows-no-tasks": { card: cardAt("1.0"), call: (call) => rpc(call, { error: { code: -32601, message: "?" } }) },
};

beforeAll(async () => {
  peer = await startWebServer({
    async handle(call) {
      received.push(call);
      const [, name = "", rest] = call.target.split("/");
      const agent = name === ".well-known" ? agents["speaks-both"] : agents[name];
      const base = `${peer.url}/${name === ".well-known" ? "speaks-both" : name}`;
      if (call.request.method === "GET") return agent?.card({ id: "", base, asked: "" }) ?? raw("", { status: 404 });
      const { id, params } = JSON.parse(Buffer.from(call.body).toString());
      return (rest === undefined && agent?.call({ id, base, asked: params.id })) || raw("", { status: 404 });
    },
  });
});
beforeEach(() => {
  received = [];
});
afterAll(async () => {
  await peer.close();
  rmSync(folder, { recursive: true, force: true });
});

const authorizer = { type: "bearer", token: { env: "AGENT_TOKEN" } };
const agentAt = (name: string, more: object = {}) => ({
  ...{ transport: "a2a", card: `${peer.url}/${name}/card`, authorizer },
  ...more,
});

async function check(destinations: Record<string, unknown>, env: Record<string, string> = {}) {
  const config = writeConfig({ folder, name: "agents.json", json: { destinations, routes: [] } });
  const ended = await commandHere(["destinations", "check", "--json", "--config", config], {
    AGENT_TOKEN: token,
    ...env,
  });
  expect(ended.stdout + ended.stderr).not.toContain(token);
  const rows = ended.stdout.trim().split("\n");
  return { code: ended.code, told: Object.fromEntries(rows.map((row) => wordsOf(JSON.parse(row)))) };
}

function wordsOf({ name, health, words }: Record<string, string>): [string | undefined, string] {
  return [name, `${health}: ${words}`];
}

describe("sekisho destinations check of an A2A agent", () => {
  it("says what its card says, and asks with credentials for a task that it cannot know, and for nothing else", async () => {
    const { code, told } = await check({ agent: agentAt("speaks-both") });
    expect(told).toEqual({ agent: `healthy: An agent[31m, A2A 1.0 at ${peer.url}/speaks-both` });
    expect(code).toBe(0);
    expect(received.every(({ request }) => request.headers.get("authorization") === `Bearer ${token}`)).toBe(true);
    const calls = received.filter(({ request }) => request.method === "POST");
    expect(calls.map(({ body }) => JSON.parse(Buffer.from(body).toString()).method)).toEqual(["GetTask", "GetTask"]);
  });

  it("calls it in the version and at the address that the configuration names", async () => {
    const url = `${peer.url}/knows-every-task`;
    const { told } = await check({
      old: agentAt("speaks-both", { version: "0.3" }),
      moved: agentAt("is-elsewhere", { url }),
    });
    expect(told.old).toContain(`A2A 0.3 at ${peer.url}/speaks-both`);
    expect(told.moved).toContain(`healthy: An agent[31m, A2A 1.0 at ${url}`);
  });

  it("finds the local host by its own card where the destination names none", async () => {
    const { told } = await check({ own: { transport: "a2a" } }, { SEKISHO_EXECUTION_PORT: new URL(peer.url).port });
    expect(told.own).toContain("healthy: An agent");
    expect(received[0]?.target).toBe("/.well-known/agent-card.json");
  });

  it("says of each that cannot be used why not, and what to do", async () => {
    const names = Object.keys(agents).filter((name) => name !== "speaks-both");
    const { code, told } = await check(Object.fromEntries(names.map((name) => [name, agentAt(name)])));
    expect(code).toBe(1);
    expect(told).toEqual({
      "knows-every-task": expect.stringMatching(/^healthy: An agent/),
      "is-too-old": expect.stringMatching(/^unhealthy: Its card names no JSON-RPC interface of a version/),
      "is-a-page": expect.stringMatching(/^unhealthy: At the card's address is no agent card/),
      "is-elsewhere": expect.stringMatching(/^unhealthy: .*interface is at another origin.* set url/),
      "hides-its-card": expect.stringMatching(/^unhealthy: It does not know the caller. Is the token/),
      "refuses-calls": expect.stringMatching(/^unhealthy: .*does not let it in.*\(HTTP 403\)/),
      "knows-no-tasks": expect.stringMatching(/^unhealthy: .*does not say whether it could be used \(error -32601\)/),
    });
  });
});
