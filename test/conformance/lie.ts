// biome-ignore-all format: one lie per row
/** The parts of lies: our own host, with a switch per lie. */
import { randomUUID } from "node:crypto";
import type { Host } from "@sekisho/execution/host.ts";
import { json } from "../doubles/answers.ts";
import type { Received } from "../doubles/web-server.ts";
import { type ConformOptions, type Handle, token, withBody } from "./honest-endpoint.ts";

// biome-ignore lint/suspicious/noExplicitAny: lies look into JSON of every shape
export type Json = any;

export type Exchange = {
  /** The request's JSON. An empty object where it is not JSON. */
  sent: Json;
  text: string;
  request: Request;
  bytes: number;
  /** The host's answer to the request, with headers replaced by `over`. */
  honest(over?: Record<string, string>): Promise<Response>;
  /** The host's answer to another body, with headers replaced by `over`. */
  insteadOf(body: object, over?: Record<string, string>): Promise<Response>;
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
export type Lie = {
  /** Completes "an endpoint that". */
  what: string;
  /** The cases that must fail. */
  caughtBy: readonly string[];
  how: How;
  options?: ConformOptions;
};

export function lieWith({ host, how }: { host: Host; how: How }): Handle {
  const memory = new Map<string, Json>();
  return async ({ request, body }: Received) => {
    const honest = (over: Record<string, string> = {}) => {
      const headers = { ...Object.fromEntries(request.headers), ...over };
      return host.handle(new Request(request.url, { method: request.method, headers, ...withBody(body) }));
    };
    const text = Buffer.from(body).toString();
    const insteadOf = (other: object, over: Record<string, string> = {}) => {
      const headers = { ...Object.fromEntries(request.headers), ...over };
      return host.handle(new Request(request.url, { method: "POST", headers, body: JSON.stringify(other) }));
    };
    return how({
      insteadOf,
      sent: parse(text) ?? {},
      text,
      request,
      bytes: body.byteLength,
      honest,
      memory,
      async anew() {
        const id = randomUUID();
        const answer: Json = await (await insteadOf({ ...parse(text), id })).json();
        if (answer.result?.correlation_id === id) answer.result.correlation_id = parse(text).id;
        return json({ ...answer, id: parse(text).id });
      },
      async changed(change) {
        const response = await honest();
        const answer = await response.json();
        change(answer);
        return json(answer, { status: response.status });
      },
      async rewritten(change) {
        const response = await honest();
        const { status } = response;
        return new Response(change(await response.text()), { status, headers: { "content-type": "application/json" } });
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

/** A list of lies, and the function that adds one of them. */
export function collectLies() {
  const lies: Lie[] = [];
  const lie = (what: string, caughtBy: string, how: How, options: ConformOptions = {}): void => {
    lies.push({ what, caughtBy: caughtBy.split(" "), how, options });
  };
  return { lies, lie };
}

export const success = ({ sent }: Exchange, text = "done", more: object = {}) =>
  json({ jsonrpc: "2.0", id: sent.id ?? null, result: { status: "success", response_text: text, ...more } });
export const result = ({ sent }: Exchange, value: object) => json({ jsonrpc: "2.0", id: sent.id, result: value });
export const error = ({ sent }: Exchange, code: unknown, message = "no", data?: object) =>
  json({ jsonrpc: "2.0", id: sent.id ?? null, error: { code, message, ...(data && { data }) } });
/** Lies where `applies` holds, and is honest elsewhere. */
export const where =
  (applies: (exchange: Exchange) => unknown, how: How): How =>
  (exchange) =>
    applies(exchange) ? how(exchange) : exchange.honest();
export const method =
  (name: string) =>
  ({ sent }: Exchange) =>
    sent.method === name;
export const [executes, gets, cancels, answers] = ["execute_task", "get_task", "cancel_task", "answer_task"].map(method) as [
  (exchange: Exchange) => boolean,
  (exchange: Exchange) => boolean,
  (exchange: Exchange) => boolean,
  (exchange: Exchange) => boolean,
];
export const says = (word: RegExp) => (exchange: Exchange) => executes(exchange) && word.test(exchange.sent.params?.text);
export const plain = says(/^Good morning/);
/** Changes the honest results with this status. */
export const changing =
  (status: string, change: (given: Json, exchange: Exchange) => void): How =>
  (exchange) =>
    exchange.changed(({ result: given }) => {
      if (given?.status === status) change(given, exchange);
    });
/** Changes the honest errors with this number. */
export const changingError =
  (code: number, change: (given: Json, exchange: Exchange) => void): How =>
  (exchange) =>
    exchange.changed(({ error: given }) => {
      if (given?.code === code) change(given, exchange);
    });
export const bearer = ({ request }: Exchange) => (request.headers.get("authorization") ?? "").replace("Bearer ", "");
export const asFirst = ({ honest }: Exchange) => honest({ authorization: `Bearer ${token}` });
