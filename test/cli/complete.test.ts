import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { complete } from "../../bin/commands/send.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { createInProcessTransport } from "../../lambdas/verification/transport/in-process/transport.ts";
import { createClient } from "../../lambdas/verification/transport/runner.ts";

type Asked = { method: string; params: Record<string, unknown> };

/** A host that says `accepted` for ever, whatever time the task was given. */
function endlessHost() {
  const asked: Asked[] = [];
  const handle = async (request: Request) => {
    const { id, method, params } = (await request.json()) as Asked & { id: string };
    asked.push({ method, params });
    await setTimeout(5);
    const status = method === "cancel_task" ? "canceled" : "accepted";
    return Response.json({ jsonrpc: "2.0", id, result: { status, task_id: "t1" } });
  };
  const client = createClient({
    transport: createInProcessTransport({ handle, maxResponseBytes: 10_000 }),
    destination: { name: "endless", dialect: "zone", idempotent: true, callTimeoutMs: 1501 },
    log: silentLog,
  });
  return { asked, client };
}

const sending = { callTimeoutMs: 1501, text: "hello", note: () => {} };
const nobody = new AbortController().signal;

describe("a task of the command line", () => {
  it("is given up and canceled when the host has not ended it by the deadline and the time of grace", async () => {
    const { asked, client } = endlessHost();
    const given = complete({ ...sending, client, signal: nobody, deadlineMs: 30, graceMs: 30 });
    await expect(given).rejects.toMatchObject({ reason: "timeout" });
    expect(asked.at(-1)).toMatchObject({ method: "cancel_task" });
  });

  it("tells the host how long it may take, and waits in whole milliseconds", async () => {
    const { asked, client } = endlessHost();
    const given = complete({ ...sending, client, signal: nobody, deadlineMs: 100, graceMs: 0 });
    await expect(given).rejects.toThrow();
    expect(asked.slice(0, 2)).toMatchObject([
      { method: "execute_task", params: { timeout_ms: 100 } },
      { method: "get_task", params: { wait_ms: 750 } },
    ]);
  });

  it("is canceled, and not called too late, when a person interrupts it", async () => {
    const { asked, client } = endlessHost();
    const person = new AbortController();
    const note = () => person.abort();
    const given = complete({ ...sending, client, note, signal: person.signal, deadlineMs: 60_000 });
    await expect(given).rejects.not.toMatchObject({ reason: "timeout" });
    expect(asked.at(-1)).toMatchObject({ method: "cancel_task" });
  });
});
