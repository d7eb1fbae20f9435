/** A call and a client for the tests of the runner, over a transport that is a plain function. */
import { randomUUID } from "node:crypto";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createClient, type ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import type {
  Transport,
  TransportRequest,
  TransportResponse,
} from "@sekisho/verification/transport/transport.ts";

export type Scripted = (
  request: TransportRequest & { id: string },
) => Promise<TransportResponse> | TransportResponse;

/** A clock that only `sleep` moves, and every pause that was made. */
export function virtualTime() {
  const time = { nowMs: 1_000_000, pauses: [] as number[] };
  return {
    time,
    now: () => time.nowMs,
    sleep: async ({ ms }: { ms: number }) => {
      time.pauses.push(ms);
      time.nowMs += ms;
    },
  };
}

export function clientOver(
  send: Scripted,
  {
    idempotent = true,
    log = silentLog,
    transport = {},
    ...overrides
  }: {
    idempotent?: boolean;
    log?: Log;
    transport?: Partial<Transport>;
  } & Partial<
    Pick<Parameters<typeof createClient>[0], "now" | "sleep" | "random" | "telemetry">
  > = {},
): ExecutionClient {
  return createClient({
    transport: {
      ...transport,
      send: async (request) =>
        send({ ...request, id: JSON.parse(Buffer.from(request.body).toString()).id }),
    },
    destination: { name: "peer", dialect: "zone", idempotent, callTimeoutMs: 30_000 },
    log,
    ...virtualTime(),
    ...overrides,
  });
}

export function execute(
  client: ExecutionClient,
  over: { id?: string; requestId?: string; signal?: AbortSignal; timeoutMs?: number } = {},
) {
  return client.call({
    method: "execute_task",
    params: { channel: "C1", text: "the text of a user", bot_token: "xoxb-of-nobody" },
    id: randomUUID(),
    requestId: randomUUID(),
    sessionId: "s".repeat(33),
    timeoutMs: 30_000,
    trace: createTrace(),
    ...over,
  });
}

export function successResponse({ id }: { id: string }): TransportResponse {
  return {
    body: Buffer.from(
      JSON.stringify({ jsonrpc: "2.0", id, result: { status: "success", response_text: "done" } }),
    ),
  };
}
