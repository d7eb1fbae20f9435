import { describe, expect, it } from "@jest/globals";
import { classify } from "../../../../lambdas/verification/transport/agentcore/platform-error.ts";

function reasonOf({ wasSent = true, ...failure }: { wasSent?: boolean; code: string; syscall?: string }) {
  const thrown = Object.assign(new Error("a failure of the network"), failure);
  return classify({ thrown, wasSent, nowMs: 0 }).reason;
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
  ])("is certainly no delivery where it comes before anything is sent: %s", (code) => {
    expect(reasonOf({ code })).toBe("unavailable");
  });

  it.each(["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])("is judged by what was under way: %s", (code) => {
    expect(reasonOf({ code, syscall: "connect" })).toBe("unavailable");
    expect(reasonOf({ code, syscall: "read" })).toBe("ambiguous");
  });

  it.each(["EPROTO", "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "ECONNRESET", "EPIPE"])(
    "leaves open whether the request arrived where it also ends connections in use: %s",
    (code) => {
      expect(reasonOf({ code })).toBe("ambiguous");
      expect(reasonOf({ code, wasSent: false })).toBe("unavailable");
    },
  );
});
