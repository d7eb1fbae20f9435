/** Decides who may use a page. Called for each request before its body is read. */
import type { IncomingMessage } from "node:http";

/** Sent as one line of plain text. The message is for a person. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** `operator` is the name in log lines. `ended` is aborted when the session ends. */
export type Visitor = { operator: string; ended?: AbortSignal };

/** Each function rejects with a `Refusal`. */
export type Admission = {
  admit(request: IncomingMessage): Promise<Visitor>;
  /** Exchanges a token for the cookie of a new session. Absent where people do not sign in. */
  signIn?(request: IncomingMessage, token: string): Promise<string>;
  /** The same for the token of a printed address. Undefined if it is wrong. */
  enter?(request: IncomingMessage, token: string): string | undefined;
  /** Ends the session. Returns the cookie that deletes the browser's. */
  signOut?(request: IncomingMessage): string;
};

/** The addresses that a person opens. A page asks for all others by itself. */
const documentPaths: readonly string[] = ["/", "/operate", "/operate/", "/operate/sign-in"];

/** True if the request is for a document, to which a link on another site may lead. */
export function isForDocument({ method, url }: IncomingMessage): boolean {
  return method === "GET" && documentPaths.includes(url?.split("?", 1)[0] ?? "");
}

/** True if a person caused the request. Automatic updates of a page must not keep its session alive. */
export function isActivity(request: IncomingMessage): boolean {
  return (
    request.method === "POST" ||
    isForDocument(request) ||
    request.headers["x-operator-active"] !== undefined
  );
}
