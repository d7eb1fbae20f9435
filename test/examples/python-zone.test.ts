import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { createClient, type ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import { commandHere } from "../cli/aws/command-here.ts";
import { hangMs } from "../tooling/hang.ts";
import { answerWithoutBody } from "./example-process.ts";
import {
  dockerfile,
  endPython,
  type Python,
  spawnPython,
  startPython,
  whyNoPython,
} from "./python-image.ts";

const file = resolve(import.meta.dirname, "../../examples/execute-elsewhere/python/agent.py");
const source = readFileSync(file, "utf8");
const env = { AGENT_TOKEN: "t0ken-of-the-test" };
const clients: ExecutionClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(endPython);

/** Calls the example with the client of the Verification zone. */
function ask(url: string, { text = "Good morning", token = env.AGENT_TOKEN } = {}) {
  const transport = createHttpsTransport({
    url,
    authorizer: createBearerAuthorizer({ readToken: async () => token }),
  });
  const destination = {
    name: "python",
    dialect: "zone",
    idempotent: false,
    callTimeoutMs: hangMs,
  } as const;
  const client = createClient({ transport, destination, log: silentLog });
  clients.push(client);
  const [id, sessionId] = [randomUUID(), `session-${"0123456789".repeat(4)}`];
  const params = { channel: "C1", text };
  return client.call({
    method: "execute_task",
    params,
    id,
    requestId: id,
    sessionId,
    timeoutMs: hangMs,
    trace: createTrace(),
  });
}

/** Replaces the line of the example's agent. */
function withAgent(line: string) {
  return (text: string) => {
    const edited = text.replace(/^ {4}return f"Python read.*$/m, line);
    if (edited === text) throw new Error("the agent's line was not found");
    return edited;
  };
}

describe("the Python example", () => {
  it("keeps the example within 46 lines of code, and imports only the standard library", () => {
    const code = source.replace(/^""".*"""$/m, "").split("\n");
    expect(code.filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(46);
    expect(code.filter((line) => line.length > 120)).toEqual([]);
    const imported = [...source.matchAll(/^(?:import|from) ([\w, .]+?)(?: import .*)?$/gm)].map(
      ([, names]) => names,
    );
    expect(imported).toEqual(["hmac, http.server, json, os, signal, sys, threading"]);
  });

  it("the image listens where its platform asks, and does not run as root", () => {
    expect(dockerfile).toMatch(/^ENV HOST=0\.0\.0\.0$/m);
    expect(dockerfile).toMatch(/^USER 65532:65532$/m);
  });
});

const suite = whyNoPython === undefined ? describe : describe.skip;
suite(`the Python example, running${whyNoPython === undefined ? "" : ` (left out: ${whyNoPython})`}`, () => {
  let python: Python;
  beforeAll(async () => {
    python = await startPython({ env });
  });

  it("fulfills every required case of the contract", async () => {
    const { url } = python;
    const { code, stdout } = await commandHere(
      ["conformance", url, "--budget", "3600", "--auth", "bearer:AGENT_TOKEN", "--json"],
      env,
    );
    const { cases } = JSON.parse(stdout) as {
      cases: { name: string; level: string; outcome: string }[];
    };
    const required = cases.filter(({ level }) => level === "required");
    expect(required.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(required.filter(({ outcome }) => outcome === "passed").length).toBeGreaterThan(20);
    expect(code).toBe(0);
  });

  it("answers a task of the Verification zone, in any script", async () => {
    const { url } = python;
    const result = await ask(url, { text: "関所 🏯" });
    expect(result).toEqual({ status: "success", response_text: "Python read: 関所 🏯" });
  });

  it("refuses a caller without its token", async () => {
    const { url } = python;
    for (const token of ["another", "t0ken-of-the-tes", "t0ken-of-the-test2", "é"]) {
      const response = await fetch(url, {
        method: "POST",
        body: "{}",
        headers: { authorization: `Bearer ${token}` },
      });
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    }
    await expect(ask(url, { token: "another" })).rejects.toMatchObject({
      reason: "unauthenticated",
    });
  });

  it("checks the token and the size before it reads a body", async () => {
    const { url } = python;
    expect(await answerWithoutBody(url, ["content-length: 50"])).toContain(" 401 ");
    const known = `authorization: Bearer ${env.AGENT_TOKEN}`;
    expect(await answerWithoutBody(url, [known, "content-length: 262145"])).toContain(" 413 ");
    for (const broken of ["-1", "abc", "", "1 2", "9".repeat(5000)]) {
      expect(await answerWithoutBody(url, [known, `content-length: ${broken}`])).toContain(" 400 ");
    }
  });

  it.each([
    ["an id that is true", { jsonrpc: "2.0", id: true, method: "execute_task" }, -32600],
    ["an id that is null", { jsonrpc: "2.0", id: null, method: "execute_task" }, -32600],
    ["no method", { jsonrpc: "2.0", id: "a" }, -32600],
    [
      "a repeated key",
      '{"jsonrpc":"2.0","id":"a","id":"b","method":"execute_task","params":{"text":"a"}}',
      -32600,
    ],
    [
      "a repeated key in its params",
      '{"jsonrpc":"2.0","id":"a","method":"x","params":{"text":"a","text":"b"}}',
      -32600,
    ],
    ["too many levels", "[".repeat(50_000), -32700],
  ])("refuses a request with %s", async (_what, request, code) => {
    const { status, answer } = await post(python.url, request);
    expect([status, answer]).toMatchObject([200, { id: null, error: { code } }]);
  });

  it.each([[{}], [{ channel: null }], [{ channel: "" }]])(
    "accepts a task without a channel (%j)",
    async (channel) => {
      const { answer } = await post(python.url, {
        ...{ jsonrpc: "2.0", id: "a", method: "execute_task" },
        params: { text: "a", ...channel },
      });
      expect(answer).toMatchObject({ id: "a", result: { status: "success" } });
    },
  );

  it("reports that the agent failed, but not why", async () => {
    const edit = withAgent('    raise ValueError("the cause")');
    const { url, output } = await startPython({ env, edit });
    await expect(ask(url)).rejects.toMatchObject({
      reason: "execution_failed",
      certainty: "refused",
    });
    const params = { channel: "C1", text: "a" };
    const { answer } = await post(url, { jsonrpc: "2.0", id: 7, method: "execute_task", params });
    expect(answer).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32064, message: "execution_failed" },
    });
    expect(output()).toContain("The agent failed: ValueError");
    expect(output()).not.toContain("the cause");
  });

  it("refuses to start without a token", async () => {
    for (const variables of [{}, { AGENT_TOKEN: "" }]) {
      const { ended: exit, output } = spawnPython({ env: variables });
      expect(await exit).toBe(1);
      expect(output()).toBe("Set AGENT_TOKEN to the token that callers must send.\n");
    }
  });

  it("completes the running answer on SIGTERM, and then ends", async () => {
    const edit = withAgent(
      '    import time; print("at work", flush=True); time.sleep(0.5); return "late"',
    );
    const { url, child, output, ended: exit } = await startPython({ env, edit });
    const answer = ask(url);
    while (!output().includes("at work")) await new Promise((passed) => setTimeout(passed, 10));
    child.kill("SIGTERM");
    await expect(answer).resolves.toMatchObject({ response_text: "late" });
    expect(await exit).toBe(0);
  });
});

/** Sends a string as it is. */
async function post(url: string, request: unknown): Promise<{ status: number; answer: unknown }> {
  const headers = { authorization: `Bearer ${env.AGENT_TOKEN}` };
  const body = typeof request === "string" ? request : JSON.stringify(request);
  const response = await fetch(url, { method: "POST", body, headers });
  return { status: response.status, answer: await response.json() };
}
