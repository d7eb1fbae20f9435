/** A2A's binding HTTP+JSON (A2A 1.0, section 11; 0.3, section 3.2.3): every operation has its own path below the interface's address. */

import type { A2aVersion, OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { resultFromProto, sendParamsToProto } from "@sekisho/contracts/a2a/v03/proto.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { parseBody } from "../read-response.ts";
import type { Binding, BindingRequest, CalledOperation } from "./binding.ts";
import { isPathMissing, readHttpError } from "./http-json-error.ts";
import type { UsableInterface } from "./interfaces.ts";

export const httpJson: Binding = {
  write({ to, operation, params }) {
    const route = routes[operation];
    if (route === undefined || (to.version === "0.3" && operation === "ListTasks"))
      return undefined;
    return toRequest(to, route(params, to.version));
  },
  read({ response, to, operation, params, id }) {
    const { status = 200, body, ...head } = response;
    const json = parseBody({ body, repairs: true });
    const namesTask = operation !== "ListTasks" && readTaskId(params) !== undefined;
    const errorResponse = { json, status, operation, namesTask };
    const error = readHttpError(errorResponse);
    if (error !== undefined) {
      const envelope = { jsonrpc: "2.0", id, error };
      return {
        passed: { ...head, status, body: Buffer.from(JSON.stringify(envelope)) },
        isVersionRefused: error.code === versionNotSupported,
      };
    }
    if (status >= 200 && status < 300 && json !== undefined) return { result: toResult(json, to) };
    return { passed: response, isVersionRefused: isPathMissing(errorResponse) };
  },
  readEvent: ({ event, to }) => ("error" in event ? "failed" : { result: toResult(event, to) }),
};

function toResult(json: unknown, { version }: UsableInterface): unknown {
  return version === "0.3" ? resultFromProto(json) : json;
}

const versionNotSupported = -32009;

type Route = {
  method: "GET" | "POST";
  path: string;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
};

const routes: {
  readonly [O in CalledOperation]:
    | ((params: OperationParams<O>, version: A2aVersion) => Route)
    | undefined;
} = {
  SendMessage: (params, version) => ({
    method: "POST",
    path: "message:send",
    body: version === "0.3" ? sendParamsToProto(params) : { ...params, tenant: undefined },
  }),
  GetTask: ({ id, historyLength }) => ({
    method: "GET",
    path: `tasks/${encodeSegment(id)}`,
    query: { historyLength },
  }),
  // A2A's Protocol Buffers and the official SDKs have GET, its tables POST.
  SubscribeToTask: ({ id }) => ({ method: "GET", path: `tasks/${encodeSegment(id)}:subscribe` }),
  ListTasks: (params) => ({ method: "GET", path: "tasks", query: params }),
  CancelTask: ({ id, metadata }) => ({
    method: "POST",
    path: `tasks/${encodeSegment(id)}:cancel`,
    body: { metadata },
  }),
};

const noBody = new Uint8Array();
/** A2A 1.0, section 11.1. A server that negotiates strictly may have no other type, and others answer with plain JSON. */
const currentTypes = {
  "content-type": "application/a2a+json",
  accept: "application/a2a+json, application/json",
};

/** Keeps the path and the query of the interface's address. The tenant is a segment of the path in 1.0; 0.3 has none. */
function toRequest({ url, version, tenant }: UsableInterface, route: Route): BindingRequest {
  const { method, path, query = {}, body } = route;
  const address = new URL(url);
  const base = address.pathname.endsWith("/") ? address.pathname : `${address.pathname}/`;
  const tenantPath = tenant === undefined ? "" : `${encodeSegment(tenant)}/`;
  address.pathname = `${base}${version === "0.3" ? "v1/" : tenantPath}${path}`;
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) address.searchParams.set(name, String(value));
  }
  return {
    method,
    url: address,
    ...(version === "1.0" && { headers: currentTypes }),
    body: body === undefined ? noBody : Buffer.from(JSON.stringify(body)),
  };
}

/** Throws for a segment that would lead to another path, however it is written. */
function encodeSegment(text: string): string {
  if (text === "." || text === "..") throw new SekishoError("unsupported_operation");
  return encodeURIComponent(text.toWellFormed());
}

/** The id of the task that an operation is about. Undefined for a message that begins one. */
function readTaskId(params: object): unknown {
  const { id, message } = params as { id?: string; message?: { taskId?: string } };
  return id ?? message?.taskId;
}
