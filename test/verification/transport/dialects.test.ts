/** A client that calls a server on loopback over the https transport, in the dialect that the server is configured to speak. */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { isGuessed } from "@sekisho/contracts/certainty.ts";
import {
  type Dialect,
  dialectSchema,
  listErrorCodes,
  listReasons,
  toErrorCode,
  toHttpStatus,
} from "@sekisho/contracts/dialects.ts";
import { createErrorResponse, reasonSchema } from "@sekisho/contracts/error-data.ts";
import {
  type ErrorDetails,
  type Reason,
  reasons,
  SekishoError,
} from "@sekisho/contracts/errors.ts";
import type { MethodName, ParamsOf } from "@sekisho/contracts/methods.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { isRepeatedInCall } from "@sekisho/verification/transport/wrappers.ts";
import * as z from "zod";
import { type Answer, startAnsweringPeer } from "../../doubles/dialects/answering-peer.ts";
import { startCleverAgents } from "../../doubles/dialects/cleveragents.ts";
import { type Outage, startVapora } from "../../doubles/dialects/vapora.ts";
import { createTestHost } from "../../execution/test-host.ts";
import { hangSignal } from "../../tooling/hang.ts";

type DialectClient = {
  /** The result, or what the call was refused with. `method` may be one that no peer has. */
  call<M extends MethodName>(request: {
    method: M | "nonexistent/method";
    params: ParamsOf<M>;
    id?: string;
  }): Promise<unknown>;
  close(): Promise<void>;
};

type CreateDialectClientOptions = { url: string; dialect: Dialect; idempotent?: boolean };

/** Pauses between attempts take no time. */
function createDialectClient({
  url,
  dialect,
  idempotent = false,
}: CreateDialectClientOptions): DialectClient {
  const client = createClient({
    transport: createHttpsTransport({ url, authorizer: noAuthorizer }),
    destination: { name: "peer", dialect, idempotent, callTimeoutMs: 20_000 },
    log: silentLog,
    sleep: async () => {},
  });
  return {
    async call({ method, params, id = randomUUID() }) {
      const common = {
        id,
        requestId: id,
        sessionId: "s".repeat(33),
        timeoutMs: 20_000,
        trace: createTrace(),
      };
      try {
        return await client.call({ method: method as MethodName, params, ...common });
      } catch (error) {
        if (error instanceof SekishoError) return error;
        throw error;
      }
    },
    close: () => client.close(),
  };
}

/** What a test asks of an error. */
function toldBy(outcome: unknown) {
  if (!(outcome instanceof SekishoError)) return { result: outcome };
  const { reason, details, message } = outcome;
  return { reason, exact: !isGuessed(outcome), details, message };
}

type Case = Answer & {
  name: string;
  means: { reason: Reason; exact: boolean; details: ErrorDetails };
};
const sources = ["zone", "zone-strict", "a2a-1.0", "a2a-0.3"].map(readSource);
const components = readComponents();
const toClose: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

/** Asks a server for each of the answers. */
function asker({ answers, dialect }: { answers: readonly Answer[]; dialect: Dialect }) {
  const peer = startAnsweringPeer({ answers });
  toClose.push(async () => (await peer).close());
  return async (index: number) => {
    const { url, calls } = await peer;
    const client = createDialectClient({ url: `${url}/${index}`, dialect });
    const outcome = await client.call({
      method: "execute_task",
      params: { channel: "C1", text: "t" },
    });
    await client.close();
    return { outcome, calls: calls.get(`/${index}`) };
  };
}

describe.each([...sources, components])("$source", ({ dialect, answers }) => {
  const ask = asker({ answers, dialect });

  it.each(answers.map(({ name, means }, index) => ({ name, means, index })))(
    "reads $name as $means.reason",
    async ({ means, index }) => {
      const { outcome, calls } = await ask(index);
      expect(toldBy(outcome)).toEqual({
        ...means,
        message: new SekishoError(means.reason).message,
      });
      expect(JSON.stringify(outcome)).not.toMatch(/Traceback|boom|secret/);
      expect(calls).toBe(means.exact && isRepeatedInCall(means.reason) ? 3 : 1);
    },
  );
});

function readSource(name: string): { source: string; dialect: Dialect; answers: readonly Case[] } {
  const file = new URL(`../../fixtures/dialects/${name}.json`, import.meta.url);
  const { source, dialect, answers } = JSON.parse(readFileSync(file, "utf8"));
  return { source, dialect: dialectSchema.parse(dialect), answers };
}

/** The error objects of the published OpenRPC document, by the reasons that it names them with. */
function readComponents(): { source: string; dialect: Dialect; answers: readonly Case[] } {
  const file = new URL("../../../contracts/generated/openrpc.json", import.meta.url);
  const { components } = JSON.parse(readFileSync(file, "utf8"));
  const errors = z.record(reasonSchema, z.looseObject({ code: z.int() })).parse(components.errors);
  const answers = Object.entries(errors).map(([name, error]) => ({
    name,
    status: 200,
    response: { jsonrpc: "2.0", id: "1", error },
    means: { reason: reasonSchema.parse(name), exact: true, details: {} },
  }));
  return { source: "The OpenRPC document of the zone contract", dialect: "zone", answers };
}

const details = { task_id: "t-1", retry_after_ms: 1500, current: "working", target: "working" };

describe.each(dialectSchema.options)("an answer in %s", (dialect) => {
  async function askAll(answerTo: (reason: Reason) => Answer) {
    const peer = await startAnsweringPeer({ answers: reasons.map(answerTo) });
    toClose.push(peer.close);
    return Promise.all(
      reasons.map(async (reason, index) => {
        const client = createDialectClient({ url: `${peer.url}/${index}`, dialect });
        const outcome = await client.call({ method: "get_task", params: { task_id: "t-1" } });
        await client.close();
        return { reason, outcome, calls: peer.calls.get(`/${index}`) };
      }),
    );
  }

  it("sends every reason with all of its details and repeats only the retryable ones", async () => {
    const outcomes = await askAll((reason) => {
      const error = new SekishoError(reason, { details, cause: new Error("secret") });
      const { status, headers, body } = createErrorResponse({ error, id: "1", dialect });
      return { status, headers, response: body };
    });
    for (const { reason, outcome, calls } of outcomes) {
      expect(toldBy(outcome)).toEqual({
        reason,
        exact: true,
        details,
        message: new SekishoError(reason).message,
      });
      expect({ reason, calls }).toEqual({ reason, calls: isRepeatedInCall(reason) ? 3 : 1 });
    }
  });

  it("reads an error without data by its code and status and repeats only certain reasons", async () => {
    const outcomes = await askAll((reason) => {
      const error = { code: toErrorCode({ reason, dialect }), message: "secret" };
      return { status: toHttpStatus(reason), response: { jsonrpc: "2.0", id: "1", error } };
    });
    for (const { reason, outcome, calls } of outcomes) {
      const sharing = listReasons({ code: toErrorCode({ reason, dialect }), dialect });
      const [guess, ...others] = sharing.filter(
        (other) => toHttpStatus(other) === toHttpStatus(reason),
      );
      // It came after 1.0.0, so an older reason of the same number is no guess.
      const doubts = others.filter((other) => other !== "asker_unverified");
      const facts = toldBy(outcome);
      expect({ asked: reason, ...facts }).toMatchObject({
        asked: reason,
        reason: guess,
        exact: doubts.length === 0,
      });
      expect([guess, ...others]).toContain(reason);
      expect(JSON.stringify(facts)).not.toContain("secret");
      expect({ reason, calls }).toEqual({
        reason,
        calls: isRepeatedInCall(reason) && doubts.length === 0 ? 3 : 1,
      });
    }
  });
});

describe("our own host", () => {
  const dialects = dialectSchema.options;

  const agent: Agent = async function* ({ text }) {
    if (text === "throw") throw new Error("secret words of an exception");
    if (text === "no plan") yield { type: "failure", reason: "plan_error" };
    else yield { type: "answer", text: "done" };
  };

  let url = "";

  beforeAll(async () => {
    const paths = Object.fromEntries(
      dialects.map((dialect) => [`/in/${dialect}`, dialect] as const),
    );
    const { host } = createTestHost({ agent, dialects: paths });
    const server = await startExecutionServer({ host, port: 0 });
    toClose.push(server.close, () => host.stop({ graceMs: 0 }));
    url = server.url;
  });

  afterAll(async () => {
    for (const close of toClose.splice(0)) await close();
  });

  /** What leads to each refusal; all of them end in an error of the host itself. */
  const ways: Readonly<Partial<Record<Reason, (client: DialectClient) => Promise<unknown>>>> = {
    method_not_found: (client) => client.call({ method: "nonexistent/method", params: {} }),
    invalid_params: (client) =>
      client.call({ method: "execute_task", params: { channel: "C1", text: "" } }),
    task_not_found: (client) => client.call({ method: "get_task", params: { task_id: "t-1" } }),
    execution_failed: (client) => execute({ client, text: "throw" }),
    plan_error: (client) => execute({ client, text: "no plan" }),
    async already_exists(client) {
      const id = randomUUID();
      await execute({ client, text: "one", id });
      return execute({ client, text: "another", id });
    },
    async invalid_state(client) {
      const id = randomUUID();
      await execute({ client, text: "one", id });
      return client.call({ method: "cancel_task", params: { request_id: id } });
    },
  };

  function execute({
    client,
    text,
    ...otherParams
  }: {
    client: DialectClient;
    text: string;
    id?: string;
  }): Promise<unknown> {
    return client.call({ method: "execute_task", params: { channel: "C1", text }, ...otherParams });
  }

  describe.each(dialects)("a path of our host with the dialect %s", (dialect: Dialect) => {
    it.each(Object.entries(ways))(
      "sends %s so that a client of the same dialect reads it unchanged",
      async (name, way) => {
        const reason = name as Reason;
        const client = createDialectClient({ url: `${url}/in/${dialect}`, dialect });
        const outcome = await way(client);
        await client.close();
        expect(toldBy(outcome)).toMatchObject({
          reason,
          exact: true,
          message: new SekishoError(reason).message,
        });
        expect(listErrorCodes({ reason, dialect })).toContain((outcome as SekishoError).code);
        expect(JSON.stringify(toldBy(outcome))).not.toContain("secret");
      },
    );

    it("sends the ids, the current state and the target state of a task with an error", async () => {
      const client = createDialectClient({ url: `${url}/in/${dialect}`, dialect });
      const refusal = await ways.invalid_state?.(client);
      const failure = await ways.execution_failed?.(client);
      await client.close();
      const ids = { task_id: expect.any(String), correlation_id: expect.any(String) };
      expect(toldBy(refusal).details).toEqual({ ...ids, current: "completed", target: "canceled" });
      expect(toldBy(failure).details).toEqual(ids);
    });

    it("uses the status and the id on the wire that the dialect requires", async () => {
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: "1",
        method: "get_task",
        params: { task_id: "t-1" },
      });
      const headers = { "content-type": "application/json" };
      const signal = hangSignal();
      const response = await fetch(`${url}/in/${dialect}`, {
        method: "POST",
        headers,
        body,
        signal,
      });
      const answer = (await response.json()) as { id?: string };
      const isVapora = dialect === "vapora";
      expect(response.status).toBe(isVapora ? toHttpStatus("task_not_found") : 200);
      expect(answer.id).toBe(isVapora ? undefined : "1");
    });
  });
});

describe("a server of CleverAgents", () => {
  afterEach(async () => {
    for (const close of toClose.splice(0).reverse()) await close();
  });

  async function agent(options: Parameters<typeof startCleverAgents>[0] = {}) {
    const server = await startCleverAgents(options);
    const client = createDialectClient({ url: server.url, dialect: "cleveragents" });
    toClose.push(server.close, client.close);
    return {
      unknownMethod: () => client.call({ method: "nonexistent/method", params: {} }),
      execute: (text: string) =>
        client.call({ method: "execute_task", params: { channel: "C1", text } }),
    };
  }

  it("rejects a string as an error code of CleverAgents", async () => {
    const { unknownMethod, execute } = await agent({ codes: "names" });
    expect(await unknownMethod()).toMatchObject({ reason: "invalid_response", code: undefined });
    expect(await execute("NOT_FOUND")).toMatchObject({
      reason: "invalid_response",
      code: undefined,
    });
  });

  it.each([
    ["NOT_FOUND", -32001, "task_not_found", false],
    ["AUTHENTICATION_REQUIRED", -32002, "unauthenticated", true],
    ["FORBIDDEN", -32003, "permission_denied", true],
    ["INVALID_STATE", -32004, "invalid_state", false],
    ["CONFLICT", -32005, "already_exists", true],
    ["BUDGET_EXCEEDED", -32006, "budget_exceeded", true],
    ["VERSION_MISMATCH", -32007, "version_not_supported", true],
    ["PLAN_ERROR", -32008, "plan_error", true],
    ["INTERNAL_ERROR", -32603, "internal", false],
  ])("reads %s with the code %i as %s", async (name, code, reason, exact) => {
    const { execute } = await agent();
    expect(await execute(name)).toMatchObject({
      code,
      reason,
      certainty: exact ? "refused" : "guessed",
    });
  });
});

type VaporaOptions = { outages?: readonly Outage[]; idempotent?: boolean };

async function vapora({ outages = [], idempotent = false }: VaporaOptions = {}) {
  const server = await startVapora({ outages });
  const client = createDialectClient({ url: server.url, dialect: "vapora", idempotent });
  toClose.push(server.close, client.close);
  const id = randomUUID();
  return {
    ...server,
    call: client.call,
    execute: () =>
      client.call({ method: "execute_task", params: { channel: "C1", text: "t" }, id }),
  };
}

describe("a task that VAPORA does not know", () => {
  it("reads -32000 with HTTP 404 and a missing id as task_not_found", async () => {
    const { url, call } = await vapora();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: "1",
      method: "get_task",
      params: { task_id: "t-1" },
    });
    const raw = await fetch(url, { method: "POST", body, signal: hangSignal() });
    expect(raw.status).toBe(404);
    expect(await raw.json()).toEqual({
      jsonrpc: "2.0",
      error: { code: -32000, message: "Task not found" },
    });
    expect(await call({ method: "get_task", params: { task_id: "t-1" } })).toMatchObject({
      reason: "task_not_found",
      code: -32000,
    });
  });
});

describe("a task that VAPORA has accepted", () => {
  it("polls a task by its id and tells a forbidden transition from a lost task by the status", async () => {
    const { execute, call } = await vapora();
    const acceptance = await execute();
    expect(acceptance).toMatchObject({ status: "accepted" });
    const params = { task_id: (acceptance as { task_id: string }).task_id };
    expect(await call({ method: "get_task", params })).toMatchObject({
      status: "success",
      response_text: "done",
    });
    expect(await call({ method: "cancel_task", params })).toMatchObject({
      reason: "invalid_state",
      code: -32000,
    });
  });
});

describe("a failure of VAPORA", () => {
  it.each<Outage>([500, 502, 503, 504, "Unavailable"])(
    "repeats after the outage %s if the peer deduplicates, and treats it as ambiguous if not",
    async (outage) => {
      const knownPeer = await vapora({ outages: [outage], idempotent: true });
      expect(await knownPeer.execute()).toMatchObject({ status: "accepted" });
      expect(knownPeer.ids).toHaveLength(2);
      expect(new Set(knownPeer.ids).size).toBe(1);
      const other = await vapora({ outages: [outage] });
      expect(await other.execute()).toMatchObject({ reason: "ambiguous" });
      expect(other.ids).toHaveLength(1);
    },
  );

  it("reads a 500 with a body as internal and never repeats it, since the reason is a guess", async () => {
    const { execute, ids } = await vapora({ outages: ["InternalError"], idempotent: true });
    expect(await execute()).toMatchObject({
      reason: "internal",
      certainty: "guessed",
      code: -32603,
    });
    expect(ids).toHaveLength(1);
  });

  it.each<[Outage, string]>([
    ["InvalidRequest", "invalid_request"],
    ["Unauthorized", "unauthenticated"],
    ["Forbidden", "permission_denied"],
    ["TaskNotFound", "task_not_found"],
    ["InvalidStateTransition", "invalid_state"],
    [400, "invalid_response"],
    [404, "invalid_response"],
    [409, "invalid_response"],
  ])(
    "reads a 4xx (%s) as %s and never repeats it, even if the peer deduplicates",
    async (outage, reason) => {
      const { execute, ids } = await vapora({ outages: [outage], idempotent: true });
      expect(await execute()).toMatchObject({ reason });
      expect(ids).toHaveLength(1);
    },
  );
});
