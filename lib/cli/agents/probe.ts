/** Finds out what an address speaks, without running a task where that can be avoided. */
import { randomUUID } from "node:crypto";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { createHttpClient, type HttpHead, upTo } from "@sekisho/runtime/http/client.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
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
    return (
      (await readCard(ask, url)) ??
      (await readModels(ask, url)) ??
      (await readAgentApi(ask, url)) ??
      (await discover(ask, url, token))
    );
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

/** The card of an A2A agent: at the address itself, or below it, or at its origin (A2A 1.0, section 8.2). */
async function readCard(ask: Ask, url: URL): Promise<ProbeResult | undefined> {
  const below = new URL(`${url.pathname.replace(/\/$/, "")}${agentCardPath}`, url);
  for (const card of new Set([url.href, below.href, new URL(agentCardPath, url).href])) {
    const { status, json } = await ask({ method: "GET", url: new URL(card) }).catch(toNothing);
    const isCard =
      isJsonObject(json) && "name" in json && ("supportedInterfaces" in json || "url" in json);
    if (status === 200 && isCard && "skills" in json)
      return {
        seen: `an A2A agent: its card is at ${card}`,
        destination: { transport: "a2a", card },
      };
  }
  return undefined;
}

/** OpenAI's list of models (https://platform.openai.com/docs/api-reference/models/list). More endpoints of it have chat completions than Responses. */
async function readModels(ask: Ask, url: URL): Promise<ProbeResult | undefined> {
  const path = toApiPath(url);
  const base = new URL(path.endsWith("/v1") ? path : `${path}/v1`, url).href;
  const { json } = await ask({ method: "GET", url: new URL(`${base}/models`) }).catch(toNothing);
  const models = isJsonObject(json) && Array.isArray(json.data) ? json.data : [];
  const [model] = models.map((each) => (isJsonObject(each) ? each.id : undefined));
  if (typeof model !== "string") return undefined;
  const chat = await refuseEmpty(ask, new URL(`${base}/chat/completions`));
  const isResponses = chat === "absent" && (await refuseEmpty(ask, new URL(`${base}/responses`)));
  const [type, api] =
    isResponses === "refused"
      ? ["responses", "Responses API"]
      : ["openai-compatible", "chat completions API"];
  return {
    seen: `models of the ${api}, the first of ${models.length} is ${model}`,
    agent: { type, baseUrl: base, model },
  };
}

/** The Responses API of one agent, such as a hosted one of Microsoft Foundry. It lists no models. */
async function readAgentApi(ask: Ask, url: URL): Promise<ProbeResult | undefined> {
  if (!/\/(v1|openai|responses)\/?$/.test(url.pathname)) return undefined;
  const base = new URL(url);
  base.pathname = toApiPath(url);
  const responses = new URL(base);
  responses.pathname += "/responses";
  return (await refuseEmpty(ask, responses)) === "refused"
    ? { seen: "the Responses API", agent: { type: "responses", baseUrl: base.href } }
    : undefined;
}

/** The path of an API without that of a call. */
function toApiPath({ pathname }: URL): string {
  return pathname.replace(/\/$/, "").replace(/\/(responses|chat\/completions)$/, "");
}

/** `refused`: the endpoint misses the members that every request has. */
async function refuseEmpty(ask: Ask, url: URL): Promise<"refused" | "absent" | "unknown"> {
  const { status, json } = await ask({ method: "POST", url, body: {} }).catch(toNothing);
  if (status === 404 || status === 405) return "absent";
  const isRefused = status === 400 || status === 422;
  return isRefused && /\b(input|model)\b/.test(JSON.stringify(json) ?? "") ? "refused" : "unknown";
}

/** A GET that fails says nothing about the address: many endpoints take only a POST. */
function toNothing(): Pick<Answer, "status" | "json"> {
  return { status: 0, json: undefined };
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
  // A server of AG-UI names the members that it misses, or begins a run that fails.
  if (/\b(thread|run)_?id\b|RUN_(STARTED|ERROR)/i.test(text))
    return { seen: "an agent that speaks AG-UI", agent: { type: "ag-ui", url: url.href } };
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
