/** Who may use the page. Asked for every request, before anything of it is read. */
import type { IncomingMessage } from "node:http";

export type AdmissionRefusal = {
  status: 401 | 403 | 429 | 503;
  words: string;
  retryAfterSeconds?: number;
};

/** `operator`: who it is, as the log says it. `ended`: aborted when the session ends, and its streams with it. */
export type AdmittedOperator = { operator: string; ended?: AbortSignal };

export type Admission = {
  /** Whether people sign in here, so that the page offers to sign out. */
  signsIn: boolean;
  /** How long a stream may stay open before it must ask anew. */
  streamMs: number;
  admit(request: IncomingMessage): Promise<AdmissionRefusal | AdmittedOperator>;
  /** Resolves to the cookie of a new session. */
  signIn?(request: IncomingMessage, token: string): Promise<AdmissionRefusal | { cookie: string }>;
  /** The token of a printed address becomes a cookie; undefined where the token is another. */
  enter?(request: IncomingMessage, token: string): string | undefined;
  /** Ends the session here, and takes the cookie back. */
  signOut?(request: IncomingMessage): string;
};

export const streamMs = 5 * 60_000;
