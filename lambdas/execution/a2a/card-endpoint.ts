/** Serves the agent card (A2A 1.0, sections 8.2 and 8.6): one for clients of 1.0, one for all others, both cacheable. */
import { createHash } from "node:crypto";
import { type AgentCard, agentCardPath } from "../../../contracts/a2a/card.ts";
import { cardToV03 } from "../../../contracts/a2a/v03/card.ts";
import type { Exchange, WholeResponse } from "../http/exchange.ts";

/** Where clients look for it: today, and up to protocol version 0.2. */
export const cardPaths: readonly string[] = [agentCardPath, "/.well-known/agent.json"];

const maxAgeSeconds = 300;

/** `version` is the request's A2A-Version as it came, if it came. Answers a GET with 200 or 304. */
export type CardEndpoint = (request: { version: string | undefined; header: Exchange["header"] }) => WholeResponse;

/**
 * Who asks for 1.0 or later gets the card as it is. All others may be clients of 0.3, which know no header: they get that
 * version's fields and beside them the list of interfaces, by which a reader of 1.0 finds its way too. Only the first is
 * signed, since the signature is over that form.
 */
export function createCardEndpoint({
  card,
  lastModifiedAtMs,
}: {
  card: AgentCard;
  lastModifiedAtMs: number;
}): CardEndpoint {
  const pure = representation(card);
  const hybrid = representation({ ...cardToV03(card), supportedInterfaces: card.supportedInterfaces });
  return ({ version, header }) => {
    const { body, etag } = isFirstOrLater(version) ? pure : hybrid;
    const headers = {
      etag,
      "last-modified": new Date(lastModifiedAtMs).toUTCString(),
      "cache-control": `public, max-age=${maxAgeSeconds}`,
      vary: "A2A-Version",
    };
    const conditions = { ifNoneMatch: header("if-none-match"), ifModifiedSince: header("if-modified-since") };
    if (isUnchanged({ etag, lastModifiedAtMs, ...conditions })) return { status: 304, headers, body: "" };
    const content = { "content-type": "application/json", "x-content-type-options": "nosniff" };
    return { status: 200, headers: { ...headers, ...content }, body };
  };
}

function representation(card: object): { body: string; etag: string } {
  const body = JSON.stringify(card);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}

function isFirstOrLater(version: string | undefined): boolean {
  return /^\s*[1-9]/.test(version ?? "");
}

/**
 * Whether a client has the current representation already (RFC 9110, section 13). `etag` is a strong one. An entity tag decides over a
 * date, and what cannot be read decides nothing.
 */
function isUnchanged({
  etag,
  lastModifiedAtMs,
  ifNoneMatch,
  ifModifiedSince,
}: {
  etag: string;
  lastModifiedAtMs: number;
  ifNoneMatch: string | undefined;
  ifModifiedSince: string | undefined;
}): boolean {
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === "*") return true;
    // The weak comparison: W/ says nothing here.
    return ifNoneMatch.match(/"[^"]*"/g)?.some((tag) => tag === etag) ?? false;
  }
  const sinceMs = Date.parse(ifModifiedSince ?? "");
  // Dates have no fractions of a second.
  return Math.floor(lastModifiedAtMs / 1000) * 1000 <= sinceMs;
}
