import { describe, expect, it } from "@jest/globals";
import { failedVerdict } from "../../../bin/destinations/failed-verdict.ts";
import { type ClientReason, SekishoError } from "../../../contracts/errors.ts";
import { CredentialError } from "../../../lambdas/verification/transport/authorizer/credential-error.ts";

const secret = "a-secret-of-this-test";

/** What is told where the call failed with `reason`, because of an error that has that code. */
function told(
  reason: ClientReason,
  cause: unknown,
  { authorizer = "bearer", timedOutMs }: { authorizer?: string; timedOutMs?: number } = {},
) {
  const thrown = new SekishoError(reason, { cause });
  return failedVerdict({ thrown, address: "https://far.example:8443/rpc", authorizer, timedOutMs });
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
    const verdict = told("unavailable", failed(code));
    expect(verdict).toEqual({ health: "unreachable", words: expect.stringContaining(words) });
    expect(verdict.words).not.toContain(secret);
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

  it.each([
    ["permission_denied", "does not let it in. Its policy over there"],
    ["agent_not_found", "no such agent or runtime"],
    ["rate_limited", "fewer calls"],
    ["invalid_response", "does not speak JSON"],
    ["payload_too_large", "maxResponseBytes"],
  ] as const)("is the platform's own refusal: %s", (reason, words) => {
    const verdict = told(reason, { name: "AnException" }, { authorizer: "sigv4" });
    expect(verdict).toEqual({ health: "unhealthy", words: expect.stringContaining(words) });
  });

  it("never ends in a text of the error where nothing is known of it", () => {
    const verdict = failedVerdict({
      thrown: new Error(secret),
      address: "",
      authorizer: "none",
      timedOutMs: undefined,
    });
    expect(verdict.words).not.toContain(secret);
  });
});
