/** Finds out what an address speaks, without running a task where that can be avoided. */
import { randomUUID } from "node:crypto";
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { createHttpClient, type HttpHead, upTo } from "@sekisho/runtime/http/client.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import {
  findProtocol,
  type PublishedProtocol,
} from "@sekisho/verification/checks/find-protocol.ts";
import { recognizeResponse } from "@sekisho/verification/transport/foreign-protocol.ts";
import { UsageError } from "../command.ts";

/** `seen` is a sentence for the person. `entry` is what to write: an agent of the Execution host, or a destination of its own. */
export type ProbeResult = { seen: string } & (
  | { agent: Record<string, unknown> }
  | { destination: Record<string, unknown> }
);

type Answer = HttpHead & { text: string; json: unknown };
type Ask = (request: { method: "GET" | "POST"; url: URL; body?: object }) => Promise<Answer>;

const maxBytes = 1024 * 1024;

/**
 * Reads an agent card and a list of models, then posts the discovery of our contract, which names no task. An endpoint that takes any JSON may
 * take that for a message. Throws a UsageError that says what is wrong if nothing answers, or if it asks for credentials.
 */
export async function probeAddress(options: {
  address: string;
  /** Sent as a bearer token. */
  token?: string | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<ProbeResult> {
  const { address, token, timeoutMs, signal } = options;
  const url = checkUrl(address);
  const http = createHttpClient();
  const ask: Ask = async ({ method, url: target, body }) => {
    const {
      status,
      headers,
      body: bytes,
    } = await http.send({
      method,
      url: target,
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: body && JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      collect: upTo(maxBytes),
    });
    const text = bytes.toString();
    return { status, headers, text, json: parseJson(text) };
  };
  try {
    const read = (target: URL) => ask({ method: "GET", url: target });
    const published = await findProtocol({ read, url });
    return published === undefined ? await discover(ask, url, token) : describe(published);
  } finally {
    http.close();
  }
}

function checkUrl(address: string): URL {
  try {
    return parseCheckedUrl(address);
  } catch (error) {
    throw new UsageError(`${address}: ${Object(error).message}`);
  }
}

function describe(published: PublishedProtocol): ProbeResult {
  if (published.protocol === "a2a") {
    const { cardUrl: card } = published;
    return {
      seen: `an A2A agent: its card is at ${card}`,
      destination: { transport: "a2a", card },
    };
  }
  const { baseUrl, models } = published;
  const [model] = models;
  return {
    seen: `models of the chat completions API, the first of ${models.length} is ${model}`,
    agent: { type: "openai-compatible", baseUrl, model },
  };
}

async function discover(ask: Ask, url: URL, token: string | undefined): Promise<ProbeResult> {
  const body = { jsonrpc: "2.0", id: randomUUID(), method: "rpc.discover" };
  const { status, headers, text, json } = await ask({ method: "POST", url, body }).catch(
    (error: unknown) => {
      const kind = errorKind(Object(error).cause ?? error);
      throw new UsageError(`Nothing answers at ${url.href} (${kind}). Is it running?`);
    },
  );
  if (status === 401 || status === 403) {
    const remedy =
      token === undefined ? "Give --token-env VARIABLE." : "Is the token of --token-env right?";
    throw new UsageError(`${url.href} asks for credentials (HTTP ${status}). ${remedy}`);
  }
  const result = isJsonObject(json) ? json.result : undefined;
  const { methods } = Object(result) as { methods?: unknown };
  if (Array.isArray(methods) && methods.some((each) => Object(each).name === "execute_task"))
    return {
      seen: "an Execution zone: it speaks our contract",
      destination: { transport: "https", url: url.href },
    };
  const protocol = recognizeResponse({ status, body: text });
  if (protocol === "ag-ui")
    return { seen: "an agent that speaks AG-UI", agent: { type: "ag-ui", url: url.href } };
  if (protocol === "openai-compatible")
    throw new UsageError(
      `${url.href} answers like the chat completions API, but lists no models. Give the address that ends in /v1.`,
    );
  if (protocol === "http")
    return { seen: "a plain endpoint", agent: { type: "http", url: url.href } };
  if (status === 404 || status === 405)
    throw new UsageError(`${url.href} takes no POST (HTTP ${status}). Is the path right?`);
  if (/html/i.test(headers["content-type"] ?? ""))
    throw new UsageError(
      `${url.href} answers with a web page (HTTP ${status}). Is the path right?`,
    );
  return {
    seen: 'none of the protocols that Sekisho recognizes, so a plain endpoint that takes {"prompt": "…"} is assumed',
    agent: { type: "http", url: url.href },
  };
}
