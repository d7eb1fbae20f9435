/** Calls a method of Slack's Web API once: encodes the arguments as a form, sends them, and turns the answer or a failure into what the caller needs. */

import { stringify } from "node:querystring";
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { createHttpClient, HttpError, type HttpHead, upTo } from "@sekisho/runtime/http/client.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { SlackError } from "./slack.ts";
import { toSlackErrorKind } from "./slack-errors.ts";

/** Bounds memory. A page of long messages can exceed it, because Slack sends up to 40,000 characters twice, as text and as blocks. */
const maxResponseBytes = 16 * 1024 * 1024;
/** Visible ASCII. Other characters would not fit into a header, or end it. */
const headerValue = /^[\x21-\x7e]+$/;

/**
 * Resolves to Slack's answer, whose `ok` is true. Rejects with a SlackError: `unavailable` without a token or a connection, `gone` for a
 * token that does not fit into a header, and `refused` for arguments that cannot be encoded. An error is `ambiguous` unless it is certainly
 * a refusal or certainly unsent. Slack's answer never becomes a cause, because it may hold texts.
 */
export async function callWebApi(request: {
  token: () => Promise<string>;
  apiUrl: string;
  method: string;
  args: Record<string, unknown>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}): Promise<Record<string, unknown>> {
  const { token, apiUrl, method, args, timeoutMs } = request;
  const { signal, end } = createDeadline({ timeoutMs, signal: request.signal });
  try {
    const secret = await abortable({ promise: token(), signal }).catch((cause: unknown) => {
      throw cause instanceof SlackError ? cause : new SlackError("unavailable", { cause });
    });
    // Slack would answer the same if such a token could be sent.
    if (!headerValue.test(secret)) throw new SlackError("gone", { slackError: "invalid_auth" });
    const headers = {
      authorization: `Bearer ${secret}`,
      "content-type": "application/x-www-form-urlencoded",
    };
    const url = new URL(apiUrl.endsWith("/") ? `${apiUrl}${method}` : `${apiUrl}/${method}`);
    const { body, ...head } = await post({
      url,
      headers,
      body: encodeForm(args),
      maxBytes: maxResponseBytes,
      signal,
    });
    return readAnswer(head, body);
  } finally {
    end();
  }
}

/** The process shares the connections to Slack, because the functions that call it have no other state in common. */
const http = createHttpClient();

/** Sends one POST. Rejects with a SlackError that says whether the request may have reached Slack. Every status is an answer. */
export async function post(request: {
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array;
  maxBytes: number;
  signal: AbortSignal;
}): Promise<HttpHead & { body: Uint8Array }> {
  const { maxBytes, ...sentRequest } = request;
  const headers = {
    ...sentRequest.headers,
    accept: "application/json",
    "accept-encoding": "identity",
    "user-agent": "sekisho",
  };
  try {
    return await http.send({ ...sentRequest, method: "POST", headers, collect: upTo(maxBytes) });
  } catch (error) {
    throw toSlackError(error);
  }
}

/** Slack itself answers with 200 or 429. Any other status below 500 comes from a proxy that rejected the request. */
export function toStatusError({ status, headers }: HttpHead): SlackError {
  if (status === 429)
    return new SlackError("rate_limited", {
      retryAfterMs: readRetryAfterMs(headers["retry-after"]),
    });
  return new SlackError(status < 500 ? "unavailable" : "ambiguous");
}

const defaultRetryAfterMs = 30_000;

function readRetryAfterMs(header: string | undefined): number {
  return header !== undefined && /^\d{1,6}$/.test(header)
    ? Number(header) * 1000
    : defaultRetryAfterMs;
}

const utf8 = new TextDecoder();

function readAnswer(head: HttpHead, body: Uint8Array): Record<string, unknown> {
  const { status, headers } = head;
  // Somebody else may have passed the request on before redirecting.
  if (status >= 300 && status < 400) throw new SlackError("ambiguous");
  if (status !== 200) throw toStatusError(head);
  const answer = parseJson(utf8.decode(body));
  if (!isJsonObject(answer)) throw new SlackError("ambiguous");
  if (answer.ok !== true) throw toNamedError(answer.error);
  const scopes = headers["x-oauth-scopes"];
  if (scopes === undefined) return answer;
  return {
    ...answer,
    response_metadata: {
      ...Object(answer.response_metadata),
      scopes: scopes.split(",").map((scope) => scope.trim()),
    },
  };
}

/** Anything that does not look like one of Slack's error names is ambiguous, and is not passed on. */
export function toNamedError(name: unknown): SlackError {
  if (typeof name !== "string" || !/^[a-z][a-z0-9_]{0,79}$/.test(name))
    return new SlackError("ambiguous");
  return new SlackError(toSlackErrorKind(name), { slackError: name });
}

export function toSlackError(error: unknown): SlackError {
  if (error instanceof SlackError) return error;
  if (!(error instanceof HttpError)) return new SlackError("ambiguous", { cause: error });
  const { kind, cause } = error;
  // Slack may have carried out a request whose answer is too large.
  return new SlackError(kind === "unsent" ? "unavailable" : "ambiguous", {
    cause,
    tooLarge: kind === "too_large",
  });
}

/**
 * Encodes arguments byte for byte as Slack's own client does: objects as JSON, nothing for what is undefined or null, and `team_id` first.
 * Half a surrogate pair becomes U+FFFD, because a form cannot hold it. Throws `refused` for a value that JSON cannot hold, such as a cycle.
 */
export function encodeForm(args: Record<string, unknown>): string {
  try {
    const fields = Object.entries({ team_id: undefined, ...args }).map(([name, value]) => [
      name,
      encodeValue(value),
    ]);
    return stringify(Object.fromEntries(fields.filter(([, value]) => value !== undefined)));
  } catch (cause) {
    throw new SlackError("refused", { cause });
  }
}

function encodeValue(value: unknown): string | number | boolean | undefined {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (value === undefined || value === null) return undefined;
  const json = JSON.stringify(value);
  // JSON escapes half a surrogate pair. A replacer for every text would take several times as long.
  return json?.includes("\\ud") ? JSON.stringify(value, toWellFormed) : json;
}

function toWellFormed(_name: string, member: unknown): unknown {
  return typeof member === "string" ? member.toWellFormed() : member;
}
