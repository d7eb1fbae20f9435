import { describe, expect, it } from "@jest/globals";
import type { ClientReason } from "@sekisho/contracts/errors.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { classify } from "@sekisho/verification/transport/agentcore/platform-error.ts";
import { createAgentCoreTransport } from "@sekisho/verification/transport/agentcore/transport.ts";
import { awsError, startAgentCoreStub } from "../../../doubles/agentcore-stub.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { closeAfterTest } from "../../../doubles/serving.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import { clientOver, execute } from "../sample.ts";
import { credentials, runtimeArn } from "./sample.ts";

const sessionId = "session-of-a-conversation-0123456789";

async function open({
  container = () => json({}),
  fault = () => undefined,
  ...options
}: { container?: () => Response; fault?: () => Response | undefined } & Partial<
  Parameters<typeof createAgentCoreTransport>[0]
> = {}) {
  let requests = 0;
  const stub = await startAgentCoreStub({
    handle: async () => container(),
    runtimeArn,
    credentials,
    qualifier: options.qualifier ?? "DEFAULT",
    fault: () => {
      requests += 1;
      return fault();
    },
  });
  const transport = createAgentCoreTransport({
    runtimeArn,
    endpoint: stub.endpoint,
    credentials: async () => credentials,
    ...options,
  });
  closeAfterTest(stub);
  closeAfterTest(transport);
  const send = ({ session = sessionId, signal = hangSignal() } = {}) =>
    transport.send({ body: Buffer.from("{}"), sessionId: session, signal, trace: createTrace() });
  return { stub, transport, send, requests: () => requests };
}

describe("the agentcore transport", () => {
  it("sends one request to the configured endpoint in the session of the conversation", async () => {
    const { stub, send } = await open({ qualifier: "prod" });
    await send();
    await send();
    expect(stub.problems).toEqual([]);
    expect(stub.sessions).toEqual([sessionId, sessionId]);
  });

  it.each(["", "short", "s".repeat(101), `-${"s".repeat(40)}`, `${"s".repeat(40)}.`])(
    "sends nothing with the session id %p",
    async (session) => {
      const { send, requests } = await open();
      await expect(send({ session })).rejects.toMatchObject({ reason: "internal" });
      expect(requests()).toBe(0);
    },
  );

  it.each<[number, string, ClientReason]>([
    [400, "ValidationException", "invalid_request"],
    [401, "UnauthorizedException", "unauthenticated"],
    [402, "ServiceQuotaExceededException", "rate_limited"],
    [403, "AccessDeniedException", "permission_denied"],
    [404, "ResourceNotFoundException", "agent_not_found"],
    [409, "RetryableConflictException", "unavailable"],
    [409, "ConflictException", "invalid_state"],
    [418, "SomethingNew", "invalid_response"],
    [424, "RuntimeClientError", "ambiguous"],
    [429, "ThrottlingException", "rate_limited"],
    [500, "InternalServerException", "ambiguous"],
    [502, "Unknown", "ambiguous"],
    [503, "Unknown", "ambiguous"],
  ])("maps %i %s to %s and leaves the repetition to the runner", async (status, name, reason) => {
    const { send, requests } = await open({ fault: () => awsError(status, name) });
    await expect(send()).rejects.toMatchObject({ reason });
    expect(requests()).toBe(1);
  });

  it.each([502, 503, 504])(
    "treats %i with HTML as ambiguous, as the status counts before the error name of the SDK",
    async (status) => {
      const { send } = await open({
        fault: () => raw("<html>", { status, headers: { "content-type": "text/html" } }),
      });
      await expect(send()).rejects.toMatchObject({ reason: "ambiguous" });
    },
  );

  it.each([301, 307])("never follows a redirect (%i)", async (status) => {
    const { send, requests } = await open({
      fault: () => new Response(null, { status, headers: { location: "/" } }),
    });
    await expect(send()).rejects.toMatchObject({ reason: "invalid_response" });
    expect(requests()).toBe(1);
  });

  it("passes on the Retry-After of a throttled call", async () => {
    const { send } = await open({
      fault: () => awsError(429, "ThrottlingException", { headers: { "retry-after": "4" } }),
    });
    await expect(send()).rejects.toMatchObject({ details: { retry_after_ms: 4000 } });
  });

  it.each<[number, number, string, ClientReason]>([
    [404, -32051, "", "agent_not_found"],
    [400, -32052, "", "invalid_request"],
    [429, -32053, "", "rate_limited"],
    [409, -32054, "Session operation in progress, please retry", "unavailable"],
    [409, -32054, "Conflict", "invalid_state"],
    [424, -32055, "", "ambiguous"],
    [500, -32603, "", "ambiguous"],
    [200, -32501, "", "agent_not_found"],
    [200, -32502, "", "invalid_request"],
    [200, -32503, "", "rate_limited"],
    [200, -32504, "Session operation in progress, please retry", "unavailable"],
    [200, -32504, "Conflict", "invalid_state"],
    [200, -32505, "", "ambiguous"],
  ])(
    "maps HTTP %i with the JSON-RPC error %i (%s) of the platform to %s",
    async (status, code, message, reason) => {
      const { send, requests } = await open({
        fault: () => json({ jsonrpc: "2.0", id: "1", error: { code, message } }, { status }),
      });
      await expect(send()).rejects.toMatchObject({ reason });
      expect(requests()).toBe(1);
    },
  );

  it("repeats a 424 once at a peer that deduplicates and never at one that does not", async () => {
    for (const [idempotent, requestCount] of [
      [true, 2],
      [false, 1],
    ] as const) {
      const { transport, requests } = await open({ container: () => raw("", { status: 500 }) });
      await expect(
        execute(clientOver((request) => transport.send(request), { idempotent })),
      ).rejects.toMatchObject({
        reason: "ambiguous",
      });
      expect(requests()).toBe(requestCount);
    }
  });

  it("rejects an event stream and keeps working afterwards", async () => {
    let count = 0;
    const { send } = await open({
      container: () => {
        count += 1;
        return count < 4
          ? raw("data: {}\n\n", { headers: { "content-type": "text/event-stream" } })
          : json({});
      },
    });
    for (let calls = 0; calls < 3; calls += 1)
      await expect(send()).rejects.toMatchObject({ reason: "invalid_response" });
    await expect(send()).resolves.toMatchObject({ status: 200 });
  });

  it("sends nothing if credentials are missing or late", async () => {
    const none = await open({ credentials: () => Promise.reject(new Error("no credentials")) });
    await expect(none.send()).rejects.toMatchObject({ reason: "unavailable" });
    const late = await open({ credentials: () => new Promise(() => {}) });
    await expect(late.send({ signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      reason: "unavailable",
    });
    expect([none.requests(), late.requests()]).toEqual([0, 0]);
  });
});

describe("stopping a session", () => {
  const { signal } = new AbortController();

  it("offers to stop sessions only if the destination wants that after the result", async () => {
    const { transport } = await open();
    expect(transport.stopSession).toBeUndefined();
  });

  it("stops a session and allows a repetition", async () => {
    const { transport, stub } = await open({ stopAfterResult: true });
    await transport.stopSession?.({ sessionId, signal });
    await transport.stopSession?.({ sessionId, signal });
    expect(stub.stopped).toEqual([sessionId]);
    expect(stub.problems).toEqual([]);
  });

  it("reports any other failure to stop a session", async () => {
    const { transport } = await open({
      stopAfterResult: true,
      fault: () => awsError(403, "AccessDeniedException"),
    });
    await expect(transport.stopSession?.({ sessionId, signal })).rejects.toMatchObject({
      reason: "permission_denied",
    });
  });
});

function reasonOf({
  wasSent = true,
  ...failure
}: {
  wasSent?: boolean;
  code: string;
  syscall?: string;
}) {
  const error = Object.assign(new Error("a failure of the network"), failure);
  return classify({ error, wasSent, nowMs: 0 }).reason;
}

describe("a failure without an answer", () => {
  it.each([
    "ECONNREFUSED",
    "ENOTFOUND",
    "EAI_AGAIN",
    "CERT_NOT_YET_VALID",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "ERR_TLS_CERT_ALTNAME_INVALID",
  ])("treats %s as undelivered if it occurs before anything is sent", (code) => {
    expect(reasonOf({ code })).toBe("unavailable");
  });

  it.each(["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])(
    "classifies %s by the system call that failed",
    (code) => {
      expect(reasonOf({ code, syscall: "connect" })).toBe("unavailable");
      expect(reasonOf({ code, syscall: "read" })).toBe("ambiguous");
    },
  );

  it.each(["EPROTO", "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "ECONNRESET", "EPIPE"])(
    "treats %s as ambiguous once the request was sent",
    (code) => {
      expect(reasonOf({ code })).toBe("ambiguous");
      expect(reasonOf({ code, wasSent: false })).toBe("unavailable");
    },
  );
});
