/** VAPORA's dialect over a socket: a lost task there and back, and which of its failures are repeated. */
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createErrorResponse } from "../../../contracts/error-data.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { type Outage, startVapora } from "../../doubles/dialects/vapora.ts";
import { createDialectClient } from "./dialect-client.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

async function vapora({
  outages = [],
  idempotent = false,
}: {
  outages?: readonly Outage[];
  idempotent?: boolean;
} = {}) {
  const server = await startVapora({ outages });
  const client = createDialectClient({ url: server.url, dialect: "vapora", idempotent });
  toClose.push(server.close, client.close);
  const id = randomUUID();
  return {
    ...server,
    call: client.call,
    execute: () => client.call({ method: "execute_task", params: { channel: "C1", text: "t" }, id }),
  };
}

describe("a task that VAPORA does not know", () => {
  it("is -32000 with HTTP 404 and no id on the wire, and task_not_found to who asked", async () => {
    const { url, call } = await vapora();
    const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "get_task", params: { task_id: "t-1" } });
    const raw = await fetch(url, { method: "POST", body, signal: AbortSignal.timeout(25_000) });
    expect(raw.status).toBe(404);
    expect(await raw.json()).toEqual({ jsonrpc: "2.0", error: { code: -32000, message: "Task not found" } });
    expect(await call({ method: "get_task", params: { task_id: "t-1" } })).toMatchObject({
      reason: "task_not_found",
      code: -32000,
    });
  });

  it("has the same number, status and absent id where our own host says so in this dialect", () => {
    const error = new SekishoError("task_not_found", { details: { task_id: "t-1" } });
    const { status, body } = createErrorResponse({ error, id: "1", dialect: "vapora" });
    expect({ status, ...body }).toMatchObject({ status: 404, jsonrpc: "2.0", error: { code: -32000 } });
    expect(body).not.toHaveProperty("id");
  });
});

describe("a task that VAPORA has taken", () => {
  it("is asked for by its id, and a transition that it forbids is told from a lost task by the status", async () => {
    const { execute, call } = await vapora();
    const accepted = await execute();
    expect(accepted).toMatchObject({ status: "accepted" });
    const params = { task_id: (accepted as { task_id: string }).task_id };
    expect(await call({ method: "get_task", params })).toMatchObject({ status: "success", response_text: "done" });
    expect(await call({ method: "cancel_task", params })).toMatchObject({ reason: "invalid_state", code: -32000 });
  });
});

describe("a failure of VAPORA", () => {
  it.each([500, 502, 504])(
    "by %i without a body is repeated with the same id where the peer deduplicates",
    async (outage) => {
      const { execute, ids } = await vapora({ outages: [outage], idempotent: true });
      expect(await execute()).toMatchObject({ status: "accepted" });
      expect(ids).toHaveLength(2);
      expect(new Set(ids).size).toBe(1);
    },
  );

  it.each([500, 502, 504])("by %i without a body stays in doubt where the peer does not", async (outage) => {
    const { execute, ids } = await vapora({ outages: [outage] });
    expect(await execute()).toMatchObject({ reason: "ambiguous" });
    expect(ids).toHaveLength(1);
  });

  it.each<Outage>(["Unavailable", 503])(
    "by 503 (%s) is repeated where the peer deduplicates, and stays in doubt where it does not: a proxy may have said it",
    async (outage) => {
      const known = await vapora({ outages: [outage], idempotent: true });
      expect(await known.execute()).toMatchObject({ status: "accepted" });
      expect(known.ids).toHaveLength(2);
      const other = await vapora({ outages: [outage] });
      expect(await other.execute()).toMatchObject({ reason: "ambiguous" });
      expect(other.ids).toHaveLength(1);
    },
  );

  it("of its own, by 500 and a body, is its answer: it may have run, and a guess is never a reason to re-send", async () => {
    const { execute, ids } = await vapora({ outages: ["InternalError"], idempotent: true });
    expect(await execute()).toMatchObject({ reason: "internal", exact: false, code: -32603 });
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
  ])("by 4xx (%s) is %s and not repeated, although the peer deduplicates", async (outage, reason) => {
    const { execute, ids } = await vapora({ outages: [outage], idempotent: true });
    expect(await execute()).toMatchObject({ reason });
    expect(ids).toHaveLength(1);
  });
});
