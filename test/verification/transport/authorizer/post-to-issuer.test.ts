import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import type { SekishoError } from "../../../../contracts/errors.ts";
import { postToIssuer } from "../../../../lambdas/verification/transport/authorizer/post-to-issuer.ts";
import { silence } from "../../../doubles/answers.ts";
import { apiError } from "../../../doubles/issuers/google.ts";
import { type Answer, oauthError, startIssuer } from "../../../doubles/issuers/issuer.ts";
import { connectionReset } from "../../../doubles/web-server.ts";
import { closedAfterwards } from "./sample.ts";

const never = new AbortController().signal;
const form = new URLSearchParams({ grant_type: "client_credentials", secret: "secret-of-nobody" });

async function issuerThat(answer: Answer) {
  return closedAfterwards(await startIssuer({ answer }));
}

function html(status: number): Response {
  return new Response("<html>secret-of-nobody</html>", { status, headers: { "content-type": "text/html" } });
}

describe("a POST to an issuer", () => {
  it("is a form, or JSON, and brings back the object", async () => {
    const { url, asked } = await issuerThat(() => Response.json({ access_token: "t" }));
    expect(await postToIssuer({ url, body: form, signal: never })).toEqual({ access_token: "t" });
    await postToIssuer({ url, body: { audience: "a" }, headers: { authorization: "Bearer b" }, signal: never });
    expect(asked.map(({ headers }) => headers.get("content-type"))).toEqual([
      "application/x-www-form-urlencoded",
      "application/json",
    ]);
    expect(asked.map(({ text }) => text)).toEqual([form.toString(), '{"audience":"a"}']);
    expect(asked[1]?.headers.get("authorization")).toBe("Bearer b");
  });

  it.each<[string, Answer, "unauthenticated" | "unavailable", string]>([
    ["an error of OAuth", () => oauthError("invalid_client", 401), "unauthenticated", "invalid_client"],
    ["an error of Google's APIs", () => apiError(403, "PERMISSION_DENIED"), "unauthenticated", "PERMISSION_DENIED"],
    ["a refusal without a word", () => new Response(null, { status: 404 }), "unauthenticated", "Http404"],
    ["a refusal as a page", () => html(403), "unauthenticated", "Http403"],
    ["a word that is none", () => oauthError("secret-of-nobody"), "unauthenticated", "Http400"],
    ["too many", () => oauthError("slow_down", 429), "unavailable", "slow_down"],
    ["a time-out of its own", () => html(408), "unavailable", "Http408"],
    ["an outage", () => html(503), "unavailable", "Http503"],
    ["an error of its own", () => oauthError("server_error", 500), "unavailable", "server_error"],
    ["a page where a token should be", () => html(200), "unavailable", "invalid_response"],
    ["a list", () => Response.json([{ access_token: "t" }]), "unavailable", "Http200"],
    [
      "half of a token",
      () => new Response('{"access_t', { headers: { "content-type": "application/json" } }),
      "unavailable",
      "Http200",
    ],
    ["too much", () => Response.json({ access_token: "t".repeat(100_000) }), "unavailable", "payload_too_large"],
    ["a reset", () => Promise.reject(connectionReset), "unavailable", "ECONNRESET"],
  ])("that is answered with %s says so, without repeating anything", async (_what, answer, reason, code) => {
    const { url } = await issuerThat(answer);
    const error = await postToIssuer({ url, body: form, signal: never }).catch((thrown: SekishoError) => thrown);
    expect(error).toMatchObject({ reason, undelivered: true, cause: { code } });
    expect(inspect(error, { depth: 20 })).not.toMatch(/secret-of-nobody|nobody should repeat|ttt/);
  });

  it.each([301, 302, 303, 307, 308])(
    "does not follow a redirect (%i), so that no secret goes elsewhere",
    async (status) => {
      const elsewhere = await issuerThat(() => Response.json({ access_token: "t" }));
      const { url } = await issuerThat(() => new Response(null, { status, headers: { location: elsewhere.url.href } }));
      const post = postToIssuer({ url, body: form, signal: never });
      await expect(post).rejects.toMatchObject({ reason: "unavailable", cause: { code: "invalid_response" } });
      expect(elsewhere.asked).toHaveLength(0);
    },
  );

  it("passes on how long the issuer wants to be left alone", async () => {
    const { url } = await issuerThat(() => new Response(null, { status: 429, headers: { "retry-after": "7" } }));
    await expect(postToIssuer({ url, body: form, signal: never })).rejects.toMatchObject({
      reason: "unavailable",
      details: { retry_after_ms: 7000 },
    });
  });

  it("that is not answered in time is unavailable", async () => {
    const { url } = await issuerThat(() => silence({ signal: never }));
    const post = postToIssuer({ url, body: form, signal: AbortSignal.timeout(50) });
    await expect(post).rejects.toMatchObject({ reason: "unavailable", cause: { code: "TimeoutError" } });
  });

  it("to nobody is unavailable, with the network's own code", async () => {
    const { url, close } = await startIssuer({ answer: () => Response.json({}) });
    await close();
    const post = postToIssuer({ url, body: form, signal: never });
    await expect(post).rejects.toMatchObject({ reason: "unavailable", cause: { code: "ECONNREFUSED" } });
  });

  it("goes over TLS alone, except on this machine", async () => {
    const post = postToIssuer({ url: "http://issuer.example/token", body: form, signal: never });
    await expect(post).rejects.toThrow("must be https");
  });
});
