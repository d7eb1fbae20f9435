/** One mention of the bot as API Gateway gives it to a function, signed now. Bolt reads both versions of the payload's fields. */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

export const secret = "8f742231b10e8888abcd99yyyzzz85a5";

const body = readFileSync(
  new URL("../../../fixtures/slack/app-mention.json", import.meta.url),
  "utf8",
);

export function slackEvent(): string {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
  return JSON.stringify({
    version: "2.0",
    rawPath: "/slack/events",
    path: "/slack/events",
    headers: {
      "content-type": "application/json",
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": `v0=${signature}`,
    },
    requestContext: { http: { method: "POST" } },
    httpMethod: "POST",
    body,
    isBase64Encoded: false,
  });
}
