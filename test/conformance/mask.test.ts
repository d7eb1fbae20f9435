/** No report holds a token of the run, whatever an endpoint says back. */
import { describe, expect, it } from "@jest/globals";
import { conformanceCases } from "@sekisho/conformance/cases/all.ts";
import { maskTokens } from "@sekisho/conformance/mask.ts";
import { readAnswer } from "@sekisho/conformance/peer.ts";
import {
  formatJsonReport,
  formatJunitReport,
  formatTextReport,
} from "@sekisho/conformance/reports.ts";
import { json } from "../doubles/answers.ts";
import { conform, type Handle, token } from "./honest-endpoint.ts";

const flipped = "THE-tOKEN-OF-THE-FIRST-CALLER";

describe("a report", () => {
  const answer = (code: number, message: string) =>
    json({ jsonrpc: "2.0", id: null, error: { code, message } });
  const endpoints: Record<string, (sentToken: string) => Response> = {
    "repeats a refused token": (sentToken) =>
      sentToken === token ? answer(-32601, "no") : answer(-32603, `Invalid API key: ${sentToken}`),
    "repeats the token where a text is cut": (sentToken) =>
      json({ detail: "x".repeat(210), seen: sentToken }),
    "sends a content type that holds the token": (sentToken) =>
      new Response('{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}', {
        headers: { "content-type": `application/x-${"y".repeat(50)}-${sentToken}` },
      }),
  };
  it.each(Object.entries(endpoints))(
    "redacts every token in a report about an endpoint that %s",
    async (_what, respond) => {
      const handle: Handle = async ({ request }) =>
        respond((request.headers.get("authorization") ?? "").replace(/^\S+ /, ""));
      const cases = conformanceCases.filter(({ name }) =>
        /^(authentication|raw|errors)\//.test(name),
      );
      const report = { ...(await conform(handle, { cases })), endpoint: "http://127.0.0.1/" };
      const texts = [
        formatTextReport(report),
        formatJsonReport(report),
        formatJunitReport(report),
      ].join("\n");
      expect(texts).toContain("[redacted");
      expect(texts).not.toContain(token.slice(0, 12));
      expect(texts).not.toContain(flipped.slice(0, 12));
    },
  );
});

describe("a text", () => {
  const secret = 'a"Secret/of+many characters';
  it.each([
    secret,
    secret.slice(0, 12),
    JSON.stringify(secret),
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
  ])("redacts a token in the form %s", (form) => {
    expect(maskTokens(`before ${form} after`, [secret])).toMatch(
      /^before "?\[redacted\]=*"? after$/,
    );
  });

  it("redacts each of very many prefixes of a token", () => {
    // To copy the text for each of them would take hours.
    const text = "abcdefgh.".repeat(500_000);
    expect(maskTokens(text, ["abcdefghijklmnop"]).replaceAll("[redacted].", "")).toBe("");
  });

  it("redacts a text before it is cut", () => {
    const body = Buffer.from(JSON.stringify({ detail: "x".repeat(220), seen: "0123456789abcdef" }));
    expect(readAnswer({ status: 200, headers: {}, body }, ["0123456789abcdef"]).came).not.toContain(
      "01234",
    );
  });
});
