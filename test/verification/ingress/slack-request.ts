/** Requests as Slack sends them: a fixture's payload, signed at run time by an HMAC of the tests' own. */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import type { HeaderPairs } from "@sekisho/verification/ingress/authenticate.ts";
import type { IngressRequest } from "@sekisho/verification/ingress/ingress.ts";

export const secret = "8f742231b10e8888abcd99yyyzzz85a5";
export const botUser = "U0BOT00001";
/** Shortly after the fixtures' messages were posted. */
export const nowMs = 1_762_750_300_000;

/** A payload as it lies in the fixtures: parsed JSON, to be varied freely. */
export type Payload = { event: Record<string, unknown> } & Record<string, unknown>;

export function fixture(name: string): Payload {
  return JSON.parse(
    readFileSync(new URL(`../../fixtures/slack/${name}.json`, import.meta.url), "utf8"),
  );
}

export function bytesOf(payload: unknown): Buffer {
  return Buffer.from(JSON.stringify(payload));
}

/** As Slack posts slash commands; with `payload` as it posts what a person did with a button. */
export function formOf(fields: Record<string, unknown>): Buffer {
  const pairs = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return Buffer.from(new URLSearchParams(pairs).toString());
}

type SignatureOfOptions = { body: Uint8Array; timestamp: string; key?: string };

export function signatureOf({ body, timestamp, key = secret }: SignatureOfOptions): string {
  const base = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]);
  return `v0=${createHmac("sha256", key).update(base).digest("hex")}`;
}

type SignedOptions = { body: Uint8Array; timestamp?: string; key?: string; more?: HeaderPairs };

export function createSignedRequest({
  body,
  timestamp = String(nowMs / 1000),
  key = secret,
  more = [],
}: SignedOptions): IngressRequest {
  const headers: HeaderPairs = [
    ["Content-Type", "application/json"],
    ["X-Slack-Request-Timestamp", timestamp],
    ["X-Slack-Signature", signatureOf({ body, timestamp, key })],
    ...more,
  ];
  return { headers, body };
}

/** One HTTP request with exactly the given headers, also repeated ones, over a connection of its own. */
export function send({
  url,
  method = "POST",
  headers = [],
  body = Buffer.alloc(0),
}: Partial<IngressRequest> & { url: string; method?: string }): Promise<{
  status: number;
  body: string;
}> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const flat = [
    ...headers,
    ["Content-Length", String(body.byteLength)],
    ["Host", "127.0.0.1"],
  ].flat();
  const messages = httpRequest(url, { method, headers: flat, agent: false }, async (response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of response) chunks.push(chunk);
    resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
  });
  messages.on("error", reject);
  messages.end(body);
  return promise;
}
