/**
 * A2A over HTTP+JSON in front of a double that speaks its JSON-RPC: reads requests as strictly as the servers of both versions together, and
 * writes its answers as they do (A2A 1.0, section 11; a2a.proto of 0.3).
 */
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { json } from "./answers.ts";

export type RestCall = {
  method: string;
  params: Record<string, unknown>;
  version: A2aVersion;
  /** The address of the interface, without the paths of the operations. */
  base: string;
};

const route =
  /^(?:\/(?<tenant>[^/?]+))??\/(?:(?<send>message:send)|tasks(?:\/(?<id>[^/?:]+)(?<cancel>:cancel)?)?)(?:\?(?<query>.*))?$/;

/** `base` is the path of the interface. Default: the first segment. */
type RestRequest = { target: string; request: Request; body: Uint8Array; base?: string };

/** Undefined for a request that is none of A2A's operations, such as one for a card. Returns the response to one that a server refuses. */
export function readRestCall(received: RestRequest): RestCall | Response | undefined {
  try {
    return readCall(received);
  } catch (refusal) {
    if (refusal instanceof Response) return refusal;
    throw refusal;
  }
}

function readCall(received: RestRequest): RestCall | undefined {
  const { target, request, body, base = /^\/[^/?]+/.exec(target)?.[0] ?? "" } = received;
  const path = target.startsWith(base) ? target.slice(base.length) : "";
  const parts = base === "/.well-known" ? undefined : route.exec(path)?.groups;
  if (parts === undefined) return undefined;
  const { tenant, send, id, cancel, query } = parts;
  const version: A2aVersion = tenant === "v1" ? "0.3" : "1.0";
  if (request.headers.get("a2a-version") !== version)
    throw restError({ error: { code: -32009, message: "no such version" }, version: "1.0" });
  const type = version === "1.0" ? "application/a2a+json" : "application/json";
  if (!request.headers.get("accept")?.includes(type)) throw new Response(null, { status: 406 });
  const isPost = send !== undefined || cancel !== undefined;
  if (request.method !== (isPost ? "POST" : "GET")) throw new Response(null, { status: 405 });
  if (isPost && request.headers.get("content-type") !== type)
    throw restError({ error: { code: -32005, message: "wrong type" }, version });
  const tenantParams = version === "1.0" && tenant ? { tenant: decodeURIComponent(tenant) } : {};
  const call = { base, version };
  if (send !== undefined) {
    const json = JSON.parse(Buffer.from(body).toString());
    const params = version === "1.0" ? readSend(json) : sendFromProto(json);
    return {
      ...call,
      method: version === "1.0" ? "SendMessage" : "message/send",
      params: { ...params, ...tenantParams },
    };
  }
  const taskParams = id === undefined ? {} : { id: decodeURIComponent(id) };
  const params = { ...taskParams, ...readQuery(query), ...tenantParams };
  if (cancel !== undefined)
    return { ...call, method: version === "1.0" ? "CancelTask" : "tasks/cancel", params };
  if (id !== undefined)
    return { ...call, method: version === "1.0" ? "GetTask" : "tasks/get", params };
  if (version === "0.3") throw new Response(null, { status: 404 });
  return { ...call, method: "ListTasks", params };
}

const numbers = ["pageSize", "historyLength"];

function readQuery(query = ""): Record<string, unknown> {
  const entries = [...new URLSearchParams(query)].map(([name, value]) => [
    name,
    numbers.includes(name) ? Number(value) : value,
  ]);
  return Object.fromEntries(entries);
}

type Members = Record<string, unknown>;

function readSend(body: Members): Members {
  requireNames(body, ["message", "configuration", "metadata"]);
  return body;
}

/** Protocol Buffers refuse names that they do not know. */
function requireNames(members: Members, names: readonly string[]): void {
  for (const name of Object.keys(members)) {
    if (names.includes(name)) continue;
    const error = { code: 400, status: "INVALID_ARGUMENT", message: `Unknown name "${name}"` };
    throw json({ error }, { status: 400 });
  }
}

function sendFromProto(body: Members): Members {
  requireNames(body, ["message", "configuration", "metadata"]);
  const { content, role, ...message } = body.message as Members & { content: Members[] };
  requireNames(message, ["messageId", "contextId", "taskId", "metadata", "extensions"]);
  if (role !== "ROLE_USER") requireNames({ role }, []);
  const configuration = body.configuration as Members;
  requireNames(configuration, [
    "acceptedOutputModes",
    "pushNotification",
    "historyLength",
    "blocking",
  ]);
  const parts = content.map(partFromProto);
  return { ...body, message: { kind: "message", ...message, role: "user", parts } };
}

function partFromProto(part: Members): Members {
  const { text, file, data, metadata, ...others } = part as Record<string, Members | undefined>;
  requireNames(others, []);
  if (text !== undefined) return { kind: "text", text, metadata };
  if (data !== undefined) {
    requireNames(data, ["data"]);
    return { kind: "data", data: data.data, metadata };
  }
  const { fileWithUri: uri, fileWithBytes: bytes, mimeType, name, ...rest } = file ?? {};
  requireNames(rest, []);
  return { kind: "file", file: { uri, bytes, mimeType, name }, metadata };
}

type Envelope = { result?: unknown; error?: { code: number; message: string; data?: unknown } };

/** `init` has the headers, and the status of an error if it is not the usual one. */
export function restAnswer({
  envelope,
  call: { version, method },
  init = {},
}: {
  envelope: Envelope;
  call: Pick<RestCall, "version" | "method">;
  init?: ResponseInit;
}): Response {
  const { result, error } = envelope;
  if (error !== undefined) return restError({ error, version, init });
  const headers = { ...typeOf(version), ...init.headers };
  return json(version === "1.0" ? result : toProto(result, method), { ...init, headers });
}

function typeOf(version: A2aVersion) {
  return { "content-type": version === "1.0" ? "application/a2a+json" : "application/json" };
}

/** A2A 1.0, section 5.4. */
const errors: Readonly<Record<number, readonly [status: number, reason: string]>> = {
  [-32001]: [404, "TASK_NOT_FOUND"],
  [-32002]: [400, "TASK_NOT_CANCELABLE"],
  [-32003]: [400, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  [-32004]: [400, "UNSUPPORTED_OPERATION"],
  [-32005]: [400, "CONTENT_TYPE_NOT_SUPPORTED"],
  [-32006]: [500, "INVALID_AGENT_RESPONSE"],
  [-32009]: [400, "VERSION_NOT_SUPPORTED"],
};

/** 1.0 names errors by details, and the SDK for JavaScript by numbers in 0.3. */
function restError({
  error,
  version,
  init = {},
}: {
  error: NonNullable<Envelope["error"]>;
  version: A2aVersion;
  init?: ResponseInit;
}): Response {
  const { code, message, data } = error;
  // A server has no path for such an operation.
  if (code === -32601) return new Response("Not Found", { status: 404 });
  const [usualStatus, reason] = errors[code] ?? [code === -32602 ? 400 : 500];
  const status = init.status ?? usualStatus;
  const headers = { ...typeOf(version), ...init.headers };
  if (version === "0.3") return json({ code, message, data }, { ...init, status, headers });
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason };
  const usualDetails = reason === undefined ? [] : [{ ...info, domain: "a2a-protocol.org" }];
  const details = Array.isArray(data) ? data : usualDetails;
  const body = { error: { code: status, status: "A_STATUS", message, details } };
  return json(body, { ...init, status, headers });
}

/** A result of 0.3 as Protocol Buffers write it. */
function toProto(result: unknown, method: string): unknown {
  const { kind, ...members } = Object(result);
  if (kind === "message") return { message: messageToProto(members) };
  if (!("status" in members)) return result;
  const task = taskToProto(members);
  return method === "message/send" ? { task } : task;
}

function taskToProto(task: Members): Members {
  const { status, artifacts, history, ...members } = task as Members & {
    status: Members;
    artifacts?: Members[];
    history?: Members[];
  };
  const name = String(status.state).toUpperCase().replaceAll("-", "_");
  return {
    ...members,
    status: {
      ...status,
      // The Protocol Buffers of 0.3 spell it with two letters.
      state: name === "CANCELED" ? "TASK_STATE_CANCELLED" : `TASK_STATE_${name}`,
      ...(status.message !== undefined && { message: messageToProto(status.message as Members) }),
    },
    ...(artifacts && {
      artifacts: artifacts.map((artifact) => ({
        ...artifact,
        parts: (artifact.parts as Members[]).map(partToProto),
      })),
    }),
    ...(history && { history: history.map(messageToProto) }),
  };
}

function messageToProto({ kind: _, role, parts, ...message }: Members): Members {
  const content = (parts as Members[]).map(partToProto);
  return { ...message, role: role === "user" ? "ROLE_USER" : "ROLE_AGENT", content };
}

function partToProto(part: Members): Members {
  const { kind, text, data, metadata } = part;
  if (kind === "text") return { text, metadata };
  if (kind === "data") return { data: { data }, metadata };
  const { uri: fileWithUri, bytes: fileWithBytes, mimeType, name } = Object(part.file);
  return { file: { fileWithUri, fileWithBytes, mimeType, name }, metadata };
}
