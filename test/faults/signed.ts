/** Requests of Slack to the ingress, signed as Slack signs them. */
import { createHmac } from "node:crypto";
import type { IngressRequest } from "@sekisho/verification/ingress/ingress.ts";
import { secrets } from "./settings.ts";
import { worldMs } from "./virtual-time.ts";

export function signed({
  body: text,
  type,
}: {
  body: string;
  type: "json" | "form";
}): IngressRequest {
  const body = Buffer.from(text);
  const timestamp = String(Math.floor(worldMs() / 1000));
  const base = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]);
  const signature = `v0=${createHmac("sha256", secrets.signingSecret).update(base).digest("hex")}`;
  return {
    body,
    headers: [
      ["Content-Type", type === "json" ? "application/json" : "application/x-www-form-urlencoded"],
      ["X-Slack-Request-Timestamp", timestamp],
      ["X-Slack-Signature", signature],
    ],
  };
}
