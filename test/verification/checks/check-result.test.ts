/** Which errors of `rpc.discover` prove a usable peer, and which prove nothing. */
import { describe, expect, it } from "@jest/globals";
import { type Dialect, dialectSchema } from "@sekisho/contracts/dialects.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { type ClientReason, reasons, SekishoError } from "@sekisho/contracts/errors.ts";
import { CredentialError } from "@sekisho/runtime/auth/authorizer.ts";
import { createAnsweredCheck } from "@sekisho/verification/checks/check-result.ts";
import { createFailedCheck } from "@sekisho/verification/checks/failed-check.ts";
import { discoveryRequest } from "@sekisho/verification/checks/health-requests.ts";
import { createCardError } from "@sekisho/verification/transport/a2a/card-problem.ts";

function checkResult({
  dialect,
  error,
  status = 200,
}: {
  dialect: Dialect;
  error: object;
  status?: number;
}) {
  const body = Buffer.from(
    JSON.stringify({ jsonrpc: "2.0", id: "1", error: { message: "no", ...error } }),
  );
  return createAnsweredCheck({
    response: { status, body },
    id: "1",
    dialect,
    authorizer: "bearer",
    healthRequest: discoveryRequest,
  });
}

describe("a peer that answers rpc.discover with a bare error", () => {
  it.each<[Dialect, number]>([
    ...dialectSchema.options.map((dialect): [Dialect, number] => [dialect, -32601]),
    ["a2a", -32004],
  ])(
    "reports a peer of dialect %s with error %d as healthy, because it may not know the method",
    (dialect, code) => {
      const summary = `It speaks JSON-RPC. It does not support rpc.discover (optional, error ${code}).`;
      expect(checkResult({ dialect, error: { code } })).toEqual({ health: "healthy", summary });
    },
  );

  it("explains to an A2A agent's caller that AgentCore drops the version, if the agent refuses it", () => {
    const { health, summary } = checkResult({ dialect: "a2a", error: { code: -32009 } });
    expect(health).toBe("unhealthy");
    expect(summary).toContain("A runtime of AgentCore has to allow the header A2A-Version");
  });

  it.each<[Dialect, number, number]>([
    ["zone-strict", -32000, 200],
    ["a2a", -32603, 200],
    ["a2a-0.3", -32603, 200],
    ["cleveragents", -32603, 200],
    ["cleveragents", -32603, 500],
    ["vapora", -32603, 200],
    ["vapora", -32603, 500],
    ["vapora", -32000, 200],
    ["zone", -32602, 200],
    ["zone", -1, 404],
  ])(
    "reports a peer of dialect %s with error %d and HTTP %d as unhealthy",
    (dialect, code, status) => {
      const { health, summary } = checkResult({ dialect, error: { code }, status });
      expect(health).toBe("unhealthy");
      expect(summary).toContain(`error ${code}, `);
    },
  );

  it("takes the reason from the HTTP status if that leaves only one", () => {
    const error = { code: -32000 };
    expect(checkResult({ dialect: "zone-strict", error, status: 401 }).summary).toMatch(
      /authenticate/,
    );
  });
});

it("reports a peer as healthy for error data only if they name an unknown method", () => {
  const healthy = reasons.filter((reason) => {
    const { data } = encodeError({ error: new SekishoError(reason), dialect: "zone" });
    return (
      checkResult({ dialect: "zone-strict", error: { code: -32000, data } }).health === "healthy"
    );
  });
  expect(healthy).toEqual(["method_not_found", "unsupported_operation"]);
});

const secret = "a-secret-of-this-test";

/** Returns the result of a check whose call failed with `reason`, because of `cause`. */
function describeFailure(
  reason: ClientReason,
  cause: unknown,
  { authorizer = "bearer", timedOutMs }: { authorizer?: string; timedOutMs?: number } = {},
) {
  const error = new SekishoError(reason, { cause });
  return createFailedCheck({
    thrown: error,
    address: "https://far.example:8443/rpc",
    authorizer,
    timedOutMs,
  });
}

const errorWith = (code: string) => Object.assign(new Error(secret), { code });

describe("an unreachable destination", () => {
  it.each([
    ["ENOTFOUND", "DNS has no entry for far.example:8443"],
    ["EAI_AGAIN", "DNS lookup for far.example:8443 failed (EAI_AGAIN)"],
    ["ECONNREFUSED", "Nothing is listening at far.example:8443"],
    ["EHOSTUNREACH", "far.example:8443 cannot be reached (EHOSTUNREACH)"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "is for another host name"],
    ["UND_ERR_CONNECT_TIMEOUT", "far.example:8443 cannot be reached (UND_ERR_CONNECT_TIMEOUT)"],
    ["CERT_HAS_EXPIRED", "is not trusted (CERT_HAS_EXPIRED)"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "is not trusted"],
    ["EPROTO", "TLS handshake with far.example:8443 failed (EPROTO)"],
    ["ECONNRESET", "(ECONNRESET)"],
  ])("explains the code %s and reports the peer as unreachable", (code, words) => {
    const checkResult = describeFailure("unavailable", errorWith(code));
    expect(checkResult).toEqual({ health: "unreachable", summary: expect.stringContaining(words) });
    expect(checkResult.summary).not.toContain(secret);
  });

  it("finds the code in nested causes, for example in a list of attempts", () => {
    const cause = new Error("outer", { cause: errorWith("ECONNREFUSED") });
    expect(describeFailure("unavailable", cause).summary).toContain("Nothing is listening");
  });

  it("reports a time-out unless it was the request for a credential that took the time", () => {
    expect(describeFailure("ambiguous", new Error("aborted"), { timedOutMs: 1500 }).summary).toBe(
      "It did not answer within 1.5 s.",
    );
    const issuer = describeFailure("unavailable", new CredentialError("TimeoutError"), {
      timedOutMs: 1500,
    });
    expect(issuer).toEqual({
      health: "unhealthy",
      summary: expect.stringContaining("cannot be reached"),
    });
  });

  it("blames the certificate and its key, not an issuer, if they cannot be used", () => {
    const cause = new CredentialError("ERR_OSSL_X509_KEY_VALUES_MISMATCH");
    const checkResult = describeFailure("unauthenticated", cause, { authorizer: "mtls" });
    expect(checkResult).toEqual({
      health: "unhealthy",
      summary: expect.stringContaining("certificate and key"),
    });
    expect(checkResult.summary).toContain("ERR_OSSL_X509_KEY_VALUES_MISMATCH");
    expect(checkResult.summary).not.toContain("issues");
  });

  it("reports the problem of an agent card in its own sentence", () => {
    const peer = { address: "https://far.example/", authorizer: "bearer", timedOutMs: undefined };
    const error = createCardError("CardNotFound", "There is no agent card at its address.");
    const summary = "There is no agent card at its address.";
    expect(createFailedCheck({ thrown: error, ...peer })).toEqual({ health: "unhealthy", summary });
    expect(
      createFailedCheck({ thrown: new SekishoError(error.reason), ...peer }).summary,
    ).not.toContain("card");
  });

  it("reports the answer of the peer instead of the token if a status came back before the send", () => {
    const error = (cause: unknown) =>
      new SekishoError("unauthenticated", { cause, certainty: "undelivered" });
    const peer = { address: "https://far.example/", authorizer: "bearer", timedOutMs: undefined };
    const statusError = Object.assign(new Error(secret), { status: 401 });
    expect(createFailedCheck({ thrown: error(statusError), ...peer }).summary).toMatch(
      /authenticate/,
    );
    expect(createFailedCheck({ thrown: error(undefined), ...peer }).summary).toContain(
      "not a valid token",
    );
  });

  it("explains a failure without a code: no connection, no answer or a vague platform error", () => {
    const undelivered = new SekishoError("unavailable", {
      cause: new Error("not connected"),
      certainty: "undelivered",
    });
    const peer = { address: "https://far.example/", authorizer: "sigv4", timedOutMs: undefined };
    expect(createFailedCheck({ thrown: undelivered, ...peer }).summary).toBe(
      "Connecting to far.example took too long.",
    );
    expect(describeFailure("ambiguous", new Error("aborted")).summary).toMatch(
      /^It did not respond in time/,
    );
    const platform = describeFailure(
      "ambiguous",
      { name: "", status: 500 },
      { authorizer: "sigv4" },
    );
    expect(platform).toEqual({
      health: "unhealthy",
      summary: expect.stringContaining("or a proxy in front of it failed"),
    });
  });

  it.each([
    ["permission_denied", "denied access to the caller. Its policy"],
    ["agent_not_found", "No such agent or runtime"],
    ["rate_limited", "the rate of calls"],
    ["invalid_response", "not JSON"],
    ["payload_too_large", "maxResponseBytes"],
  ] as const)("explains a refusal by the platform itself: %s", (reason, words) => {
    const checkResult = describeFailure(reason, { name: "AnException" }, { authorizer: "sigv4" });
    expect(checkResult).toEqual({ health: "unhealthy", summary: expect.stringContaining(words) });
  });

  it("never shows the text of an unknown error", () => {
    const checkResult = createFailedCheck({
      thrown: new Error(secret),
      address: "",
      authorizer: "none",
      timedOutMs: undefined,
    });
    expect(checkResult.summary).not.toContain(secret);
  });
});
