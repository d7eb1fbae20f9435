/** Sends raw bytes to the endpoint under test, as the right caller or as one that it must refuse. */
import {
  createHttpClient,
  HttpError,
  type HttpHeaders,
  type HttpMethod,
  upTo,
} from "@sekisho/runtime/http/client.ts";
import type { ClientCertificate } from "@sekisho/runtime/http/connections.ts";
import { type Stranger, strangers, strangersHeaders } from "./strangers.ts";

/** Callers other than the right one. `another` has a valid token of its own. The rest must be refused. */
export type Caller = Stranger | "another";

export type RawRequest = {
  method?: HttpMethod;
  /** Replaces the path of the endpoint. */
  path?: string;
  /** Replace the usual ones. A header that is `undefined` is not sent. */
  headers?: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
  sessionId: string;
  trace: Readonly<Record<string, string>>;
  signal: AbortSignal;
  as?: Caller;
};

/** `status` and `headers` are undefined where the transport has none. */
export type RawResponse = {
  status: number | undefined;
  headers: HttpHeaders | undefined;
  body: Uint8Array;
};

export type Sender = {
  /** Rejects with a SendError. */
  send(request: RawRequest): Promise<RawResponse>;
  /** Those that can be tried. */
  callers: ReadonlySet<Caller>;
  /** Why the others cannot be tried. */
  whyNot: string;
  /** True if the address is on this machine, so that it can read files that this process serves. */
  isLocal: boolean;
  /** True if requests with another path or HTTP method can be sent. */
  isHttp: boolean;
  /** What must never come back. */
  secrets(): readonly string[];
  /** Every token that was sent, altered ones as well. A report holds none of them. */
  sentTokens(): readonly string[];
  close(): Promise<void>;
};

/** No readable response came. `kind: "no_connection"`: the request certainly did not arrive. */
export class SendError extends Error {
  override name = "SendError";
  readonly kind: "no_connection" | "broken" | "no_credential" | "unreadable";

  /** `message` is for a person and holds no secret. */
  constructor(kind: SendError["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The client's limit for a response (docs/reference/contract.md, Bounds). */
const maxResponseBytes = 1024 * 1024;

type Credentials = {
  headers?: Readonly<Record<string, string>> | undefined;
  certificate?: ClientCertificate | undefined;
};
/** Rejects with a SendError `no_credential`. */
export type Authorize = (request: {
  method: HttpMethod;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  signal: AbortSignal;
}) => Promise<Credentials>;

export type HttpSenderOptions = {
  url: URL;
  /** Absent for an endpoint that asks for no credentials. */
  authorize?: Authorize | undefined;
  /** A second caller, whose tasks are not those of the first. */
  authorizeAnother?: Authorize | undefined;
  /** Why no strangers can be tried, for example because there is no connection without a certificate. */
  whyNoStrangers?: string | undefined;
  isLocal: boolean;
};

export function createHttpSender(options: HttpSenderOptions): Sender {
  const { url, authorize, authorizeAnother, isLocal } = options;
  const whyNot =
    authorize === undefined ? "no credentials were given (--auth)" : options.whyNoStrangers;
  const http = createHttpClient();
  const secrets = new Set<string>();
  const sentTokens = new Set<string>();
  const callers = new Set<Caller>(whyNot === undefined ? strangers : []);
  if (authorizeAnother !== undefined) callers.add("another");
  return {
    callers,
    whyNot: whyNot ?? "there is no second caller (--other-auth)",
    isLocal,
    isHttp: true,
    secrets: () => [...secrets],
    sentTokens: () => [...sentTokens],
    async send({
      method = "POST",
      path,
      body,
      headers: extraHeaders,
      sessionId,
      trace,
      signal,
      as,
    }) {
      const target = path === undefined ? url : new URL(path, url);
      const headers = pickDefined({
        "content-type": method === "GET" ? undefined : "application/json",
        accept: "application/json",
        "accept-encoding": "identity",
        "x-amzn-bedrock-agentcore-runtime-session-id": sessionId,
        ...trace,
        ...extraHeaders,
      });
      const by = as === "another" ? authorizeAnother : authorize;
      const own = (await by?.({ method, url: target, headers, body, signal })) ?? {};
      const token = own.headers?.authorization?.replace(/^\S+ /, "");
      if (token !== undefined && token.length >= 6) secrets.add(token);
      const credentialHeaders =
        as === undefined || as === "another" ? own.headers : alterHeaders(own.headers, as);
      const sentToken = credentialHeaders?.authorization?.replace(/^\S+ /, "");
      for (const one of [token, sentToken])
        if (one !== undefined && one.length >= 6) sentTokens.add(one);
      const sentBody = method === "GET" ? undefined : body;
      const request = {
        method,
        url: target,
        headers: { ...headers, ...credentialHeaders },
        body: sentBody,
        signal,
      };
      const collect = upTo(maxResponseBytes);
      try {
        return await http.send({ ...request, certificate: own.certificate, collect });
      } catch (error) {
        throw toSendError(error);
      }
    },
    async close() {
      http.close();
    },
  };
}

/** Signatures come in more headers than one, so a stranger sends none of the right caller's headers unless they hold a bearer token. */
function alterHeaders(headers: Credentials["headers"], as: Stranger): Record<string, string> {
  const { authorization, ...otherHeaders } = headers ?? {};
  const isBearer = /^Bearer ./i.test(authorization ?? "") && as !== "nobody";
  return { ...(isBearer && otherHeaders), ...strangersHeaders(as, authorization) };
}

function pickDefined(headers: Record<string, string | undefined>): Record<string, string> {
  const pairs = Object.entries(headers).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return Object.fromEntries(pairs);
}

const texts = {
  unsent: "no connection to it",
  ambiguous: "the connection broke before the answer was there",
  not_http: "an answer that is not HTTP",
  too_large: `an answer of more than ${maxResponseBytes} bytes`,
};

function toSendError(error: unknown): unknown {
  if (!(error instanceof HttpError)) return error;
  const kinds = {
    unsent: "no_connection",
    ambiguous: "broken",
    not_http: "unreadable",
    too_large: "unreadable",
  } as const;
  return new SendError(kinds[error.kind], texts[error.kind]);
}
