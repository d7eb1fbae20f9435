/** A scripted peer that speaks A2A. Scripts use the zone contract; their answers are translated to A2A. */

import { slackMessageKey } from "@sekisho/contracts/a2a/extension.ts";
import { type A2aVersion, operations, toA2aOperation } from "@sekisho/contracts/a2a/operations.ts";
import { joinTextParts } from "@sekisho/contracts/a2a/part.ts";
import { v03Operations } from "@sekisho/contracts/a2a/v03/params.ts";
import { createWebRequest } from "@sekisho/runtime/http/web-request.ts";
import type { BindingName } from "@sekisho/verification/transport/carrier.ts";
import { type AnsweredOperation, a2aAnswer } from "./a2a-peer-answer.ts";
import { type RestCall, readRestCall, restAnswer } from "./a2a-rest.ts";
import { json } from "./answers.ts";
import { createPeer, type Peer, type Script } from "./execution-peer.ts";

/**
 * The script gets `execute_task`, `get_task` and `cancel_task`. A request for the card is not a call. A request without a version counts
 * as 0.3. `path` is the only one for calls, and the one in the card.
 */
export function createA2aPeer({
  script,
  version,
  binding = "JSONRPC",
  path,
}: {
  script: Script;
  version: A2aVersion;
  binding?: BindingName;
  path: string;
}): Peer {
  const { handle, calls } = createPeer({ script });
  return {
    calls,
    async handle(request) {
      const { pathname, search } = new URL(request.url);
      const target = pathname + search;
      const body = new Uint8Array(await request.clone().arrayBuffer());
      const restCall = binding === "JSONRPC" ? undefined : readRestCall({ target, request, body });
      if (restCall instanceof Response) return restCall;
      if (restCall !== undefined) return answerRest({ restCall, request, handle });
      if (request.method === "GET")
        return json(cardOf({ url: new URL(path, request.url).href, version, binding }));
      const requestedVersion = request.headers.get("a2a-version") ?? "0.3";
      if (pathname !== path || requestedVersion !== version)
        return new Response(null, { status: 400 });
      const { id, method, params } = JSON.parse(await request.text());
      const operation = toA2aOperation(method)?.operation as AnsweredOperation;
      const zoneCall = JSON.stringify({ id, ...toZone({ operation, version, params }) });
      const { url: address, headers, signal } = request;
      const answer = await handle(
        createWebRequest(address, { method: "POST", headers, body: zoneCall, signal }),
      );
      return inA2a({ answer, operation, version });
    },
  };
}

/** The smallest card of each version. */
export function cardOf({
  url,
  version,
  binding = "JSONRPC",
}: {
  url: string;
  version: A2aVersion;
  binding?: BindingName;
}): Record<string, unknown> {
  const about = {
    name: "an agent",
    description: "for tests",
    version: "1",
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "talk", name: "talk", description: "talks", tags: ["talk"] }],
  };
  if (version === "0.3") {
    const preferred = binding === "JSONRPC" ? {} : { preferredTransport: binding };
    return { ...about, protocolVersion: "0.3.0", url, ...preferred };
  }
  return {
    ...about,
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }],
  };
}

/** Throws for params that the version does not define. */
function toZone({
  operation,
  version,
  params,
}: {
  operation: AnsweredOperation;
  version: A2aVersion;
  params: unknown;
}) {
  const schemas = version === "1.0" ? operations : v03Operations;
  if (operation === "GetTask")
    return { method: "get_task", params: { task_id: schemas.GetTask.parse(params).id } };
  if (operation === "CancelTask") {
    return { method: "cancel_task", params: { task_id: schemas.CancelTask.parse(params).id } };
  }
  const { message } = schemas.SendMessage.parse(params);
  return {
    method: "execute_task",
    params: { ...Object(message.metadata?.[slackMessageKey]), text: joinTextParts(message.parts) },
  };
}

async function answerRest({
  restCall,
  request,
  handle,
}: {
  restCall: RestCall;
  request: Request;
  handle: Peer["handle"];
}): Promise<Response> {
  const { method, params, version } = restCall;
  const operation = toA2aOperation(method)?.operation as AnsweredOperation;
  const id = Object(params.message).messageId ?? "no message";
  const body = JSON.stringify({ id, ...toZone({ operation, version, params }) });
  const { url, headers, signal } = request;
  const answer = await handle(createWebRequest(url, { method: "POST", headers, body, signal }));
  const reader = answer.body?.getReader();
  const { value: chunk } = (await reader?.read()) ?? {};
  if (reader === undefined || chunk === undefined) return new Response("", answer);
  const text = Buffer.from(a2aAnswer({ chunk, operation, version })).toString();
  const init = {
    ...(answer.status === 200 ? {} : { status: answer.status }),
    headers: Object.fromEntries(answer.headers),
  };
  if (text.includes('"jsonrpc"') && text.trim().endsWith("}")) {
    const response = restAnswer({ envelope: JSON.parse(text), call: restCall, init });
    const bytes = Buffer.from(await response.arrayBuffer());
    const padding = Buffer.alloc(Math.max(0, chunk.byteLength - bytes.byteLength), " ");
    return new Response(Buffer.concat([bytes, padding]), response);
  }
  return new Response(ReadableStream.from(followedBy(chunk, reader)), init);
}

async function* followedBy(
  chunk: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncIterable<Uint8Array> {
  try {
    yield chunk;
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Translates a complete response of the zone contract. Everything else stays as it is. */
function inA2a({
  answer,
  operation,
  version,
}: {
  answer: Response;
  operation: AnsweredOperation;
  version: A2aVersion;
}): Response {
  const { body, status, headers } = answer;
  const translation = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(a2aAnswer({ chunk, operation, version })),
  });
  return new Response(body?.pipeThrough(translation), { status, headers });
}
