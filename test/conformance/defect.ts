/** The parts of a defective endpoint: our own host, and the changes to its responses. */
import { randomUUID } from "node:crypto";
import type { Host } from "@sekisho/execution/host.ts";
import { json } from "../doubles/answers.ts";
import type { Received } from "../doubles/web-server.ts";
import { type ConformOptions, type Handle, token, withBody } from "./honest-endpoint.ts";

// biome-ignore lint/suspicious/noExplicitAny: defects look into JSON of every shape
export type Json = any;

export type Exchange = {
  /** The request's JSON. An empty object where it is not JSON. */
  sentRequest: Json;
  text: string;
  request: Request;
  bytes: number;
  /** The host's answer to the request, with headers replaced by `over`. */
  honest(over?: Record<string, string>): Promise<Response>;
  /** The host's answer to another body, with headers replaced by `over`. */
  insteadOf(body: object, over?: Record<string, string>): Promise<Response>;
  /** The host's answer to the same request with other params. */
  withParams(over: object): Promise<Response>;
  /** The host's answer with its JSON changed in place. */
  changed(change: (answer: Json) => void): Promise<Response>;
  /** The host's answer with its text replaced. */
  rewritten(change: (text: string) => string | Uint8Array<ArrayBuffer>): Promise<Response>;
  /** The host's answer to the same request under a new id, so that the agent runs. */
  anew(): Promise<Response>;
  /** The endpoint's memory during one run. */
  memory: Map<string, Json>;
  /** Counts calls of it with this key, from 1. */
  count(key: string): number;
};

export type How = (exchange: Exchange) => Promise<Response> | Response;
type Applies = (exchange: Exchange) => unknown;
/** `what` completes "an endpoint that". */
export type Defect = readonly [caughtBy: string, what: string, how: How, options?: ConformOptions];

export function serveDefect({ host, how }: { host: Host; how: How }): Handle {
  const memory = new Map<string, Json>();
  return async ({ request, body }: Received) => {
    const text = Buffer.from(body).toString();
    const sentRequest = parse(text) ?? {};
    const ask = (init: RequestInit, over: Record<string, string>) => {
      const headers = { ...Object.fromEntries(request.headers), ...over };
      return host.handle(new Request(request.url, { ...init, headers }));
    };
    const honest: Exchange["honest"] = (over = {}) =>
      ask({ method: request.method, ...withBody(body) }, over);
    const insteadOf: Exchange["insteadOf"] = (other, over = {}) =>
      ask({ method: "POST", body: JSON.stringify(other) }, over);
    return how({
      ...{ sentRequest, text, request, bytes: body.byteLength, honest, insteadOf, memory },
      withParams: (over) =>
        insteadOf({ ...sentRequest, params: { ...sentRequest.params, ...over } }),
      async anew() {
        const id = randomUUID();
        const answer: Json = await (await insteadOf({ ...sentRequest, id })).json();
        if (answer.result?.correlation_id === id) answer.result.correlation_id = sentRequest.id;
        return json({ ...answer, id: sentRequest.id });
      },
      async changed(change) {
        const response = await honest();
        const answer = await response.json();
        change(answer);
        return json(answer, { status: response.status });
      },
      async rewritten(change) {
        const response = await honest();
        const headers = { "content-type": "application/json" };
        return new Response(change(await response.text()), { status: response.status, headers });
      },
      count(key) {
        memory.set(key, (memory.get(key) ?? 0) + 1);
        return memory.get(key);
      },
    });
  };
}

export function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const result = ({ sentRequest }: Exchange, value: object) =>
  json({ jsonrpc: "2.0", id: sentRequest.id, result: value });
export const success = (x: Exchange, text = "done") =>
  result(x, { status: "success", response_text: text });
/** The task that the request names, as if it were under way. */
export const accepted = (x: Exchange) =>
  result(x, { status: "accepted", task_id: x.sentRequest.params.task_id });
export const error = ({ sentRequest }: Exchange, code: unknown) =>
  json({ jsonrpc: "2.0", id: sentRequest.id ?? null, error: { code, message: "no" } });

/** Applies the defect where `applies` holds, and is honest elsewhere. */
export const where =
  (applies: Applies, how: How): How =>
  (x) =>
    applies(x) ? how(x) : x.honest();
/** Refuses where `applies` holds. */
export const refusing = (applies: Applies, code = -32602): How =>
  where(applies, (x) => error(x, code));
/** Changes the honest results with this status. */
export const changing =
  (status: string, change: (result: Json, exchange: Exchange) => void): How =>
  (x) =>
    x.changed(({ result }) => {
      if (result?.status === status) change(result, x);
    });
/** Changes the text of the honest answers. */
export const rewriting = (change: (text: string) => string): How =>
  changing("success", (result) => {
    result.response_text = change(result.response_text);
  });
/** Changes the honest errors with this number. */
export const changingError =
  (code: number, change: (result: Json, exchange: Exchange) => void): How =>
  (x) =>
    x.changed(({ error: result }) => {
      if (result?.code === code) change(result, x);
    });
/** Sends a result in place of the honest errors with this number. */
export const overlooking =
  (code: number, applies: Applies, value: (x: Exchange) => object): How =>
  (x) =>
    x.changed((answer) => {
      if (answer.error?.code !== code || !applies(x)) return;
      delete answer.error;
      answer.result = value(x);
    });

export const method =
  (name: string) =>
  ({ sentRequest }: Exchange) =>
    sentRequest.method === name;
export const executes = method("execute_task");
export const gets = method("get_task");
export const cancels = method("cancel_task");
export const answers = method("answer_task");
export const votes = method("feedback");
export const says = (word: RegExp) => (x: Exchange) =>
  executes(x) && word.test(x.sentRequest.params?.text);
export const plain = says(/^Good morning/);
/** True from that request with the same id on. */
export const repeated =
  (applies: Applies, from = 2) =>
  (x: Exchange) =>
    applies(x) && x.count(x.sentRequest.id) >= from;

export const bearer = ({ request }: Exchange) =>
  (request.headers.get("authorization") ?? "").replace("Bearer ", "");
export const session = ({ request }: Exchange) =>
  request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
export const first = (x: Exchange) => bearer(x) === token;
export const asFirst = ({ honest }: Exchange) => honest({ authorization: `Bearer ${token}` });
