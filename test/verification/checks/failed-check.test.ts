import { describe, expect, it } from "@jest/globals";
import { type ClientReason, SekishoError } from "../../../contracts/errors.ts";
import { createFailedCheck } from "../../../lambdas/verification/checks/failed-check.ts";
import { CredentialError } from "../../../lambdas/verification/transport/authorizer/authorizer.ts";

const secret = "a-secret-of-this-test";

/** Returns the result of a check whose call failed with `reason`, because of `cause`. */
function told(
  reason: ClientReason,
  cause: unknown,
  { authorizer = "bearer", timedOutMs }: { authorizer?: string; timedOutMs?: number } = {},
) {
  const thrown = new SekishoError(reason, { cause });
  return createFailedCheck({ thrown, address: "https://far.example:8443/rpc", authorizer, timedOutMs });
}

const failed = (code: string) => Object.assign(new Error(secret), { code });

describe("why nothing came back from a destination", () => {
  it.each([
    ["ENOTFOUND", "There is no host far.example:8443"],
    ["EAI_AGAIN", "DNS does not answer for far.example:8443"],
    ["ECONNREFUSED", "Nobody listens at far.example:8443"],
    ["EHOSTUNREACH", "There is no way to far.example:8443 (EHOSTUNREACH)"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "is for another name"],
    ["CERT_HAS_EXPIRED", "is not to be believed (CERT_HAS_EXPIRED)"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "is not to be believed"],
    ["EPROTO", "TLS with far.example:8443 fails (EPROTO)"],
    ["ECONNRESET", "ended before an answer came (ECONNRESET)"],
  ])("is told by the code %s alone, and the peer counts as unreachable", (code, words) => {
    const checkResult = told("unavailable", failed(code));
    expect(checkResult).toEqual({ health: "unreachable", words: expect.stringContaining(words) });
    expect(checkResult.words).not.toContain(secret);
  });

  it("is found where the cause has causes of its own, as a list of attempts has", () => {
    const cause = new Error("outer", { cause: failed("ECONNREFUSED") });
    expect(told("unavailable", cause).words).toContain("Nobody listens");
  });

  it("is the time, unless the way to a credential took it", () => {
    expect(told("ambiguous", new Error("aborted"), { timedOutMs: 1500 }).words).toBe("It did not answer within 1.5 s.");
    const issuer = told("unavailable", new CredentialError("TimeoutError"), { timedOutMs: 1500 });
    expect(issuer).toEqual({ health: "unhealthy", words: expect.stringContaining("cannot be reached") });
  });

  it("is no certificate's issuer where the certificate and its key cannot be used", () => {
    const cause = new CredentialError("ERR_OSSL_X509_KEY_VALUES_MISMATCH");
    const checkResult = told("unauthenticated", cause, { authorizer: "mtls" });
    expect(checkResult).toEqual({ health: "unhealthy", words: expect.stringContaining("do they belong together") });
    expect(checkResult.words).toContain("ERR_OSSL_X509_KEY_VALUES_MISMATCH");
    expect(checkResult.words).not.toContain("issues");
  });

  it.each([
    ["invalid_response", "At the card's address is no agent card"],
    ["version_not_supported", "names no JSON-RPC interface of a version"],
  ] as const)("is an agent card that cannot be used, where %s comes before anything was sent", (reason, words) => {
    const cause = new Error(secret);
    const peer = { address: "https://far.example/", authorizer: "bearer", timedOutMs: undefined };
    const unsent = new SekishoError(reason, { cause, undelivered: true });
    expect(createFailedCheck({ thrown: unsent, ...peer })).toEqual({
      health: "unhealthy",
      words: expect.stringContaining(words),
    });
    expect(createFailedCheck({ thrown: new SekishoError(reason), ...peer }).words).not.toContain("card");
  });

  it("is what the peer answered, and not the token, where a status came back before anything was sent", () => {
    const thrown = (cause: unknown) => new SekishoError("unauthenticated", { cause, undelivered: true });
    const peer = { address: "https://far.example/", authorizer: "bearer", timedOutMs: undefined };
    const answered = Object.assign(new Error(secret), { status: 401 });
    expect(createFailedCheck({ thrown: thrown(answered), ...peer }).words).toMatch(/^It does not know the caller/);
    expect(createFailedCheck({ thrown: thrown(undefined), ...peer }).words).toContain(
      "no credential that could be sent",
    );
  });

  it("is told without a code, too: no connection, no answer, or an answer of the platform that says little", () => {
    const undelivered = new SekishoError("unavailable", { cause: new Error("not connected"), undelivered: true });
    const peer = { address: "https://far.example/", authorizer: "sigv4", timedOutMs: undefined };
    expect(createFailedCheck({ thrown: undelivered, ...peer }).words).toBe(
      "No connection to far.example came about in time.",
    );
    expect(told("ambiguous", new Error("aborted")).words).toMatch(/^No answer came in time/);
    const platform = told("ambiguous", { name: "", status: 500 }, { authorizer: "sigv4" });
    expect(platform).toEqual({
      health: "unhealthy",
      words: expect.stringContaining("It failed, or something before it"),
    });
  });

  it.each([
    ["permission_denied", "does not let it in. Its policy over there"],
    ["agent_not_found", "no such agent or runtime"],
    ["rate_limited", "fewer calls"],
    ["invalid_response", "does not speak JSON"],
    ["payload_too_large", "maxResponseBytes"],
  ] as const)("is the platform's own refusal: %s", (reason, words) => {
    const checkResult = told(reason, { name: "AnException" }, { authorizer: "sigv4" });
    expect(checkResult).toEqual({ health: "unhealthy", words: expect.stringContaining(words) });
  });

  it("never ends in a text of the error where nothing is known of it", () => {
    const checkResult = createFailedCheck({
      thrown: new Error(secret),
      address: "",
      authorizer: "none",
      timedOutMs: undefined,
    });
    expect(checkResult.words).not.toContain(secret);
  });
});
