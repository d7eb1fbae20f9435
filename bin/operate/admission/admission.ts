/** Who may use the page. Asked for every request, before anything of it is read. */
import type { IncomingMessage } from "node:http";

export type Refusal = {
  status: 401 | 403 | 429 | 503;
  words: string;
  retryAfterSeconds?: number;
};

/** `operator`: who it is, as the log says it. */
export type Admitted = { operator: string };

export type Admission = {
  /** Whether people sign in here, so that the page offers to sign out. */
  signsIn: boolean;
  /** How long a stream may stay open before it must ask anew. */
  streamMs: number | undefined;
  admit(request: IncomingMessage): Promise<Refusal | Admitted>;
  /** Resolves to the cookie that stands for the token from now on. */
  signIn?(request: IncomingMessage, token: string): Promise<Refusal | { cookie: string }>;
  signOut?(request: IncomingMessage): string;
};
