/** The endpoint under test: sends requests for the cases, describes every outcome, and remembers it for the cases that sum up. */
import { randomBytes, randomUUID } from "node:crypto";
import { canRepeat } from "@sekisho/contracts/certainty.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import {
  type JsonRpcResponse,
  type RequestId,
  responseSchema,
} from "@sekisho/contracts/envelope.ts";
import { decodeError } from "@sekisho/contracts/error-data.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { redact } from "@sekisho/runtime/redact.ts";
import { createTrace, createTraceHeaders } from "@sekisho/runtime/telemetry/telemetry.ts";
import { escapeActiveCharacters } from "@sekisho/runtime/untrusted-input.ts";
import { maskTokens } from "./mask.ts";
import { type RawJson, type RawProblem, readRawJson } from "./raw-json.ts";
import {
  type Caller,
  type RawRequest,
  type RawResponse,
  SendError,
  type Sender,
} from "./sender.ts";

export type PeerRequest = Pick<RawRequest, "method" | "path" | "headers" | "as"> & {
  body: string | Uint8Array;
  /** The id in the body, where it has one. */
  id?: RequestId | null;
  /** Default: a session that all requests without a task share, because a platform may start a machine for each session. */
  sessionId?: string | undefined;
  trace?: Readonly<Record<string, string>>;
  /** Hangs up after this time, as a client does whose connection breaks. */
  hangUpMs?: number;
};

export type Call = {
  method: string;
  params?: unknown;
  id?: string;
  sessionId?: string | undefined;
  as?: Caller;
  hangUpMs?: number;
};

export type PeerAnswer = Omit<RawJson, "json"> & {
  status: number | undefined;
  /** The headers of the response. Undefined if there was none, or if the transport has none. */
  headers: RawResponse["headers"];
  body: Uint8Array;
  json: unknown;
  response: JsonRpcResponse | undefined;
  /** Why no readable answer came. */
  failure: SendError["kind"] | "late" | undefined;
  /** The outcome for a person. */
  came: string;
  /** The id that was sent. */
  id: RequestId | null;
  tookMs: number;
  dialect: Dialect;
};

/** One exchange: what was sent in which case, and what came. */
export type Observation = {
  caseName: string;
  sessionId: string;
  as: Caller | undefined;
  /** Of a request to another path than that of the endpoint. */
  path: string | undefined;
  method: string | undefined;
  params: unknown;
  atMs: number;
  answer: PeerAnswer;
};

/** The endpoint as one case sees it. `sessionId` is a session for a task of the case. */
export type PeerOfCase = Omit<Sender, "send" | "close"> & {
  sessionId: string;
  /** Rejects only when the run ends. */
  send(request: PeerRequest): Promise<PeerAnswer>;
  /** Sends one well-formed Request. */
  call(call: Call): Promise<PeerAnswer>;
  /** Adds a mark to a text, by which the text is recognized where it must not be. `sessionId`: that of its task. */
  mark(text: string, sessionId?: string): string;
  /** The latest request, shortened for a person. */
  lastSent(): string | undefined;
};

type PeerOptions = {
  sender: Sender;
  dialect: Dialect;
  callTimeoutMs: number;
  retryMs: number;
  maxConcurrentCalls: number;
  /** Ends the run. */
  signal: AbortSignal;
  now: () => number;
};

export type Peer = {
  forCase(name: string): PeerOfCase;
  observations: readonly Observation[];
  /** The session to which the mark belongs. */
  findMark(mark: string): string | undefined;
};

export const markPattern = /ref-[0-9a-f]{12}/g;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createPeer(options: PeerOptions): Peer {
  const { sender, dialect, callTimeoutMs, retryMs, maxConcurrentCalls, signal: end, now } = options;
  const observations: Observation[] = [];
  const marks = new Map<string, string>();
  const slots = createSlots(maxConcurrentCalls);
  const sharedSession = newSessionId();

  async function exchange(
    request: RawRequest,
    hangUpMs: number | undefined,
  ): Promise<RawResponse | Missing> {
    const late = AbortSignal.timeout(hangUpMs ?? callTimeoutMs);
    const signal = AbortSignal.any([end, late]);
    try {
      return await abortable({ promise: sender.send({ ...request, signal }), signal });
    } catch (error) {
      end.throwIfAborted();
      if (late.aborted)
        return {
          failure: "late",
          came: `no answer within ${(hangUpMs ?? callTimeoutMs) / 1000} s`,
        };
      if (error instanceof SendError) return { failure: error.kind, came: error.message };
      throw error;
    }
  }

  function forCase(caseName: string): PeerOfCase {
    const ownSession = newSessionId();
    let lastSent: string | undefined;

    /** Repeats a request that was refused for now, as the Verification zone does. */
    async function send(request: PeerRequest): Promise<PeerAnswer> {
      for (let attempt = 1; ; attempt++) {
        const answer = await sendOnce(request);
        const delayMs = readRetryDelay(answer, retryMs * attempt);
        if (delayMs === undefined || attempt === maxAttempts) return answer;
        await sleep(delayMs, end);
      }
    }

    async function sendOnce(request: PeerRequest): Promise<PeerAnswer> {
      const {
        body,
        id = null,
        sessionId = sharedSession,
        hangUpMs,
        trace = createTraceHeaders(createTrace()),
      } = request;
      const bytes = typeof body === "string" ? Buffer.from(body) : body;
      lastSent = describeSent(request, bytes);
      const release = await slots.take(end);
      try {
        const { method, path, headers, as } = request;
        const raw = {
          ...pick({ method, path, headers, as }),
          body: bytes,
          sessionId,
          trace,
          signal: end,
        };
        const sentAtMs = now();
        const rawResponse = await exchange(raw, hangUpMs);
        const tookMs = now() - sentAtMs;
        const answer = { ...readAnswer(rawResponse, sender.sentTokens()), id, dialect, tookMs };
        const { method: calledMethod, params } = Object(readRawJson(bytes).json);
        observations.push({
          caseName,
          sessionId,
          as,
          path,
          method: calledMethod,
          params,
          atMs: now(),
          answer,
        });
        return answer;
      } finally {
        release();
      }
    }

    return {
      ...sender,
      sessionId: ownSession,
      send,
      async call({ method, params, id = randomUUID(), ...sendOptions }) {
        return send({
          id,
          body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
          ...sendOptions,
        });
      },
      mark(text, sessionId = ownSession) {
        const mark = `ref-${randomBytes(6).toString("hex")}`;
        marks.set(mark, sessionId);
        return `${text} (${mark})`;
      },
      lastSent: () => lastSent,
    };
  }

  return { forCase, observations, findMark: (mark) => marks.get(mark) };
}

export function newSessionId(): string {
  return `conformance-${randomUUID()}`;
}

/** As long as a session id may be. */
export function newLongSessionId(): string {
  return newSessionId().padEnd(100, "Aa0_-");
}

type Missing = { failure: SendError["kind"] | "late"; came: string };

const noBody = new Uint8Array();

/** `secrets` are masked in what a person sees. */
export function readAnswer(
  rawResponse: RawResponse | Missing,
  secrets: readonly string[] = [],
): Omit<PeerAnswer, "id" | "dialect" | "tookMs"> {
  if ("failure" in rawResponse) {
    const nothing = {
      status: undefined,
      headers: undefined,
      body: noBody,
      json: undefined,
      response: undefined,
    };
    return { ...nothing, problems: [], ...rawResponse };
  }
  const { status, body } = rawResponse;
  const { json, problems } = readRawJson(body);
  const response = responseSchema.safeParse(json).data;
  const head = status === undefined ? "" : `HTTP ${status}, `;
  const answerText =
    response === undefined
      ? describeForeign(body, json, problems, secrets)
      : excerpt(toShown(response), secrets);
  return {
    ...rawResponse,
    json,
    problems,
    response,
    failure: undefined,
    came: maskTokens(`${head}${answerText}`, secrets),
  };
}

/** Describes what is not a JSON-RPC Response. */
function describeForeign(
  body: Uint8Array,
  json: unknown,
  problems: readonly RawProblem[],
  secrets: readonly string[],
): string {
  if (body.byteLength === 0) return "no JSON-RPC body";
  if (problems.includes("too-deep")) return "JSON that is nested deeper than 100 levels";
  if (json === undefined) return `${body.byteLength} bytes that are no JSON in UTF-8`;
  return `JSON that is no JSON-RPC Response: ${excerpt(json, secrets)}`;
}

/** Leaves out the version, and puts the id last. */
function toShown(response: JsonRpcResponse): object {
  const { id } = response;
  return "error" in response ? { error: response.error, id } : { result: response.result, id };
}

const maxShown = { came: 240, sent: 600 };

/** Removes secrets, and escapes what a terminal would act upon. */
function excerpt(
  json: unknown,
  secrets: readonly string[] = [],
  maxLength = maxShown.came,
): string {
  const text = maskTokens(escapeActiveCharacters(JSON.stringify(redact(json))), secrets);
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

function describeSent({ as, path, method = "POST" }: PeerRequest, body: Uint8Array): string {
  const { json, problems } = readRawJson(body.byteLength > 4096 ? noBody : body);
  const what =
    json === undefined || problems.length > 0
      ? `${body.byteLength} bytes`
      : excerpt(json, [], maxShown.sent);
  const by = as === undefined ? "" : ` (as: ${as})`;
  return `${path === undefined && method === "POST" ? "" : `${method} ${path ?? ""} `}${what}${by}`;
}

const maxAttempts = 4;
const maxRetryDelayMs = 5000;

/** Undefined if the answer is final. */
function readRetryDelay(
  { response, dialect, status }: PeerAnswer,
  usualMs: number,
): number | undefined {
  if (response === undefined || !("error" in response)) return undefined;
  const error = decodeError({ error: response.error, dialect, status });
  const { reason, details } = error;
  if (!canRepeat(error) || (reason !== "rate_limited" && reason !== "unavailable"))
    return undefined;
  return Math.min(details.retry_after_ms ?? usualMs, maxRetryDelayMs);
}

/** Bounds how many calls are under way at the same time. */
function createSlots(max: number): { take(signal: AbortSignal): Promise<() => void> } {
  let free = max;
  const waiting: (() => void)[] = [];
  return {
    async take(signal) {
      if (free > 0) free -= 1;
      else
        await abortable({ promise: new Promise<void>((resolve) => waiting.push(resolve)), signal });
      return () => {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      };
    },
  };
}

function pick<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const pairs = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(pairs) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Resolves after the time. Rejects when `signal` aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await abortable({ promise, signal }).finally(() => clearTimeout(timer));
}
