/** Bedrock AgentCore's data plane in front of a container's handler. It checks requests as AWS does, and hides what AWS hides. */
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { createWebRequest } from "@sekisho/runtime/http/web-request.ts";
import { type KnownCredentials, sigv4Problem } from "./sigv4-check.ts";
import { type Received, startWebServer } from "./web-server.ts";

export type AgentCoreStub = Awaited<ReturnType<typeof startAgentCoreStub>>;

const session = "x-amzn-bedrock-agentcore-runtime-session-id";

/** The port and the path of a container of each protocol. */
const containers = { HTTP: "http://container:8080/invocations", A2A: "http://container:9000/" };
type Protocol = keyof typeof containers;

/**
 * `POST /runtimes/<encoded ARN>/invocations?qualifier=` goes to `handle` as `POST /invocations`, or as `POST /` of a runtime with the
 * protocol A2A, which has a card too. Any 4xx or 5xx becomes 424 RuntimeClientError, in A2A as JSON-RPC. Of the headers that the
 * platform does not know, the container gets those in `allowedHeaders`. If `fault` returns a response, the platform answers with that.
 */
export async function startAgentCoreStub({
  handle,
  runtimeArn,
  qualifier = "DEFAULT",
  protocol = "HTTP",
  allowedHeaders = [],
  credentials,
  fault = () => undefined,
}: {
  handle: (request: Request) => Promise<Response>;
  runtimeArn: string;
  qualifier?: string;
  protocol?: Protocol;
  allowedHeaders?: readonly string[];
  credentials: KnownCredentials;
  fault?: (request: Request) => Response | undefined;
}) {
  const region = runtimeArn.split(":")[3] ?? "";
  const runtimePath = `/runtimes/${encodeURIComponent(runtimeArn)}`;
  const container = containers[protocol];
  const sessions: string[] = [];
  const cardSessions: string[] = [];
  const stopped: string[] = [];
  const problems: string[] = [];

  async function answer(received: Received): Promise<Response> {
    const { request, target, body } = received;
    const [path, query = ""] = target.split("?");
    const sessionId = request.headers.get(session) ?? "";
    const badSignature = sigv4Problem({
      received,
      credentials,
      service: "bedrock-agentcore",
      region,
    });
    if (badSignature !== undefined) return refuse(403, "AccessDeniedException", badSignature);
    if (new URLSearchParams(query).get("qualifier") !== qualifier)
      return refuse(404, "ResourceNotFoundException", "qualifier");
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{32,99}$/.test(sessionId))
      return refuse(400, "ValidationException", "session id");
    const injected = fault(request);
    if (injected !== undefined) return injected;
    if (request.method === "POST" && path === `${runtimePath}/stopruntimesession`) {
      if (stopped.includes(sessionId)) return awsError(404, "ResourceNotFoundException");
      stopped.push(sessionId);
      return Response.json({ runtimeSessionId: sessionId, statusCode: 200 });
    }
    const headers = toContainerHeaders(request, allowedHeaders);
    if (request.method === "GET" && path === `${runtimePath}/invocations${agentCardPath}`) {
      if (protocol !== "A2A") return refuse(400, "ValidationException", "protocol");
      cardSessions.push(sessionId);
      const card = new Request(new URL(agentCardPath, container), { headers });
      return hideErrors(await handle(card), protocol);
    }
    if (request.method !== "POST" || path !== `${runtimePath}/invocations`) {
      return refuse(404, "ResourceNotFoundException", `path ${path}`);
    }
    if (!/^00-[0-9a-f]{32}-[0-9a-f]{16}-\d\d$/.test(request.headers.get("traceparent") ?? "")) {
      return refuse(400, "ValidationException", "traceparent");
    }
    sessions.push(sessionId);
    const call = createWebRequest(container, {
      method: "POST",
      headers,
      body,
      signal: request.signal,
    });
    return hideErrors(await handle(call), protocol);
  }

  function refuse(status: number, name: string, problem: string): Response {
    problems.push(problem);
    return awsError(status, name);
  }

  const { url, close } = await startWebServer({ handle: answer });
  return {
    endpoint: url,
    /** The sessions of invocations, in order. */
    sessions,
    /** The sessions of reads of the card, in order. */
    cardSessions,
    /** The sessions that were stopped. */
    stopped,
    /** The problems of refused requests. */
    problems,
    close,
  };
}

/** An error as AWS sends it: the name in a header, and a JSON body that is not JSON-RPC. */
export function awsError(
  status: number,
  name: string,
  { headers = {}, message = "stub" }: { headers?: Record<string, string>; message?: string } = {},
): Response {
  return Response.json({ message }, { status, headers: { "x-amzn-errortype": name, ...headers } });
}

const passedOn = ["content-type", "accept", session, "traceparent", "tracestate", "baggage"];

function toContainerHeaders(request: Request, allowedHeaders: readonly string[]): Headers {
  const headers = new Headers();
  for (const name of [...passedOn, ...allowedHeaders]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return headers;
}

function hideErrors(response: Response, protocol: Protocol): Response {
  if (response.status < 400) return response;
  if (protocol === "A2A") {
    const error = { code: -32055, message: "Runtime client error" };
    return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 424 });
  }
  return awsError(424, "RuntimeClientError", {
    message: `Received error (${response.status}) from runtime.`,
  });
}
