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
 * take that for a message. An API of models also gets an empty request, which it refuses. Throws a UsageError that says what is wrong if nothing answers, or if it asks for credentials.
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
    if (published !== undefined) return await describe(ask, published);
    return (await readAgentApi(ask, url)) ?? (await discover(ask, url, token));
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

async function describe(ask: Ask, published: PublishedProtocol): Promise<ProbeResult> {
  if (published.protocol === "a2a") {
    const { cardUrl: card } = published;
    return {
      seen: `an A2A agent: its card is at ${card}`,
      destination: { transport: "a2a", card },
    };
  }
  const { baseUrl, models } = published;
  const [model] = models;
  const [type, api] = (await hasResponsesOnly(ask, baseUrl))
    ? ["responses", "Responses API"]
    : ["openai-compatible", "chat completions API"];
  return {
    seen: `models of the ${api}, the first of ${models.length} is ${model}`,
    agent: { type, baseUrl, model },
  };
}

/** More endpoints have chat completions than Responses, so those are taken if both are there. */
async function hasResponsesOnly(ask: Ask, baseUrl: string): Promise<boolean> {
  const chat = await refuseEmpty(ask, new URL(`${baseUrl}/chat/completions`));
  if (chat !== "absent") return false;
  return (await refuseEmpty(ask, new URL(`${baseUrl}/responses`))) === "refused";
}

/** The Responses API of one agent, such as a hosted one of Microsoft Foundry. It lists no models. */
async function readAgentApi(ask: Ask, url: URL): Promise<ProbeResult | undefined> {
  if (!/\/(v1|openai|responses)\/?$/.test(url.pathname)) return undefined;
  const base = new URL(url);
  base.pathname = url.pathname.replace(/\/$/, "").replace(/\/responses$/, "");
  const responses = new URL(base);
  responses.pathname += "/responses";
  return (await refuseEmpty(ask, responses)) === "refused"
    ? { seen: "the Responses API", agent: { type: "responses", baseUrl: base.href } }
    : undefined;
}

/** `refused`: the endpoint misses the members that every request has. */
async function refuseEmpty(ask: Ask, url: URL): Promise<"refused" | "absent" | "unknown"> {
  const { status, json } = await ask({ method: "POST", url, body: {} }).catch(toNothing);
  if (status === 404 || status === 405) return "absent";
  const isRefused = status === 400 || status === 422;
  return isRefused && /\b(input|model)\b/.test(JSON.stringify(json) ?? "") ? "refused" : "unknown";
}

/** An endpoint that cannot be reached. */
function toNothing(): Pick<Answer, "status" | "json"> {
  return { status: 0, json: undefined };
}

async function discover(ask: Ask, url: URL, token: string | undefined): Promise<ProbeResult> {
  const body = { jsonrpc: "2.0", id: randomUUID(), method: "rpc.discover" };
  const { status, headers, text, json } = await ask({ method: "POST", url, body }).catch(
    (error: unknown) => {
      const kind = errorKind(Object(error).cause ?? error);
      const question = /_SSL_|TLS|CERT/.test(kind)
        ? "Does it speak TLS, with a certificate that this machine trusts? If not, its address begins with http://."
        : "Is it running?";
      throw new UsageError(`Nothing answers at ${url.href} (${kind}). ${question}`);
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
    throw new UsageError(
      `Nothing takes a POST at ${url.href} (HTTP ${status}). Is the path right?`,
    );
  if (/html/i.test(headers["content-type"] ?? ""))
    throw new UsageError(
      `${url.href} answers with a web page (HTTP ${status}). Is the path right?`,
    );
  // An agent that expects a prompt may also fail with 500 without one, so that says nothing.
  if ([502, 503, 504].includes(status))
    throw new UsageError(
      `${url.href} is behind a proxy that does not reach it (HTTP ${status}). Is it running?`,
    );
  return {
    seen: `none of the protocols that Sekisho recognizes (HTTP ${status}), so a plain endpoint that takes {"prompt": "…"} is assumed. If it takes another body, set request`,
    agent: { type: "http", url: url.href },
  };
}
