/** A host that speaks A2A on a socket of its own, with short times, and the calls of a client that knows nothing but JSON. */
import { randomUUID } from "node:crypto";
import { a2aSchema } from "@sekisho/config/a2a-schema.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { A2aTask, StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { type Cards, createCards } from "@sekisho/execution/a2a/cards.ts";
import type { A2aSettings } from "@sekisho/execution/a2a/endpoint.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { createTestHost, type TestHost } from "../test-host.ts";

export type A2aError = {
  code: number;
  message: string;
  data: Record<string, unknown> & Record<string, unknown>[];
};
export type A2aAnswer<T> = { jsonrpc: string; id: unknown; result?: T; error?: A2aError };
export type Called<T> = A2aAnswer<T> & { status: number; headers: Headers };

export type CallOptions = {
  version?: A2aVersion | string | undefined;
  path?: string;
  id?: string | number;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

export type A2aHost = TestHost & {
  url: string;
  port: number;
  /** One answer in one piece. */
  ask<T = A2aTask>(method: string, params?: unknown, options?: CallOptions): Promise<Called<T>>;
  /** The same, of which a result is expected. */
  result<T = A2aTask>(method: string, params?: unknown, options?: CallOptions): Promise<T>;
  /** The results of a stream as they come. */
  stream<E = StreamEvent>(
    method: string,
    params: unknown,
    options?: CallOptions,
  ): AsyncGenerator<E>;
  post(body: string | Uint8Array<ArrayBuffer>, options?: CallOptions): Promise<Response>;
  close(): Promise<void>;
};

/** Longer than a test may take: what waits for more than it should fails. */
const syncBudgetMs = 60_000;

type WithoutA2a<T> = T extends unknown ? Omit<T, "a2a"> : never;
type Options = Partial<WithoutA2a<HostOptions>> & {
  a2a?: Partial<A2aSettings>;
  /** What `execution.a2a` says. */
  config?: Record<string, unknown>;
  stallMs?: number;
};

export async function startA2aHost({
  a2a,
  config = {},
  stallMs,
  ...options
}: Options = {}): Promise<A2aHost> {
  let made: Cards | undefined;
  const cards: Cards = {
    endpoint: (request) => made?.endpoint(request) ?? { status: 404, headers: {}, body: "" },
    extended: (request) => made?.extended(request) as ReturnType<Cards["extended"]>,
  };
  const { tenant } = config as { tenant?: string };
  const settings = { firstSignMs: 30, ...a2a, cards, tenant };
  const test = createTestHost({
    progressMs: 1,
    syncBudgetMs,
    ...options,
    a2a: settings,
  } as Partial<HostOptions>);
  const server = await startExecutionServer({
    host: test.host,
    port: 0,
    ...(stallMs !== undefined && { stallMs }),
  });
  const push = a2a?.notifications !== undefined;
  made = await createCards({
    a2a: a2aSchema.parse(config),
    url: `${server.url}/`,
    authenticator: { type: "none" },
    streaming: true,
    push,
    readSecret: () => Promise.reject(new Error("no secrets here")),
  });

  function post(
    body: string | Uint8Array<ArrayBuffer>,
    { version, path = "/a2a", headers, signal }: CallOptions = {},
  ) {
    const versionHeader = version === undefined ? {} : { "a2a-version": version };
    const all = { "content-type": "application/json", ...versionHeader, ...headers };
    return fetch(`${server.url}${path}`, {
      method: "POST",
      body,
      headers: all,
      signal: signal ?? null,
    });
  }

  function request(method: string, params: unknown, options: CallOptions) {
    const { id = randomUUID(), version = "1.0" } = options;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    return post(body, { ...options, version: "version" in options ? options.version : version });
  }

  const host: A2aHost = {
    ...test,
    url: server.url,
    port: server.port,
    post,
    async ask<T>(method: string, params: unknown = {}, options: CallOptions = {}) {
      const response = await request(method, params, options);
      const { status, headers } = response;
      return { ...(await firstAnswer<T>(response)), status, headers };
    },
    async result<T>(method: string, params: unknown = {}, options: CallOptions = {}) {
      const { result, error } = await host.ask<T>(method, params, options);
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    },
    async *stream<E>(method: string, params: unknown, options: CallOptions = {}) {
      const response = await request(method, params, options);
      for await (const data of dataOf(response)) yield (JSON.parse(data) as { result: E }).result;
    },
    async close() {
      await test.host.stop({ graceMs: 0 });
      await server.close();
    },
  };
  return host;
}

/** Starts a host that is closed after the test. */
export async function serveA2a(options: Options = {}): Promise<A2aHost> {
  const host = await startA2aHost(options);
  afterTest(host.close);
  return host;
}

/** The answer, or the first one of an event stream. */
export async function firstAnswer<T>(response: Response): Promise<A2aAnswer<T>> {
  const isStream = response.headers.get("content-type") === "text/event-stream";
  if (!isStream) return (await response.json()) as A2aAnswer<T>;
  const events = dataOf(response);
  const { value } = await events.next();
  // Not awaited: a stream whose task goes on is only closed at its next event.
  void events.return(undefined);
  return JSON.parse(value ?? "") as A2aAnswer<T>;
}

/** What the `data` lines of an event stream carry; comments are left out. */
export async function* dataOf(response: Response): AsyncGenerator<string> {
  let lastFrame = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    lastFrame += decoder.decode(chunk, { stream: true });
    const frames = lastFrame.split("\n\n");
    lastFrame = frames.pop() ?? "";
    for (const frame of frames) if (frame.startsWith("data: ")) yield frame.slice("data: ".length);
  }
}

export function userMessage(text: string, more: Record<string, unknown> = {}) {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
}
