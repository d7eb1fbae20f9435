/** What is kept out of answers to an operator: credentials that a peer repeats, in whole or in part. */
import { describe, expect, it } from "@jest/globals";
import { createRedaction, redactTransport } from "../../../lambdas/verification/checks/redaction.ts";
import type { Transport } from "../../../lambdas/verification/transport/transport.ts";

describe("redaction", () => {
  it("knows a short-lived token without its scheme, and the fields of a signature", () => {
    const redaction = createRedaction();
    const signed =
      "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/scope, SignedHeaders=host;x-amz-date, Signature=0123456789ab";
    redaction.addHeaders({ authorization: "Bearer short-lived-token", "x-signed": signed });
    expect(redaction.text("You sent short-lived-token.")).toBe("You sent [redacted].");
    expect(redaction.text("0123456789ab and AKIAEXAMPLE/scope")).toBe("[redacted] and [redacted]");
  });

  it("covers how a peer describes itself", async () => {
    const redaction = createRedaction();
    redaction.add("secret-token");
    const description = { name: "a secret-token", url: "https://x.example/secret-token", version: "secret-token" };
    const transport = { describe: async () => description } as unknown as Transport;
    const described = redactTransport({ transport, redaction }).describe?.({} as never);
    expect(JSON.stringify(await described)).not.toContain("secret-token");
  });
});
