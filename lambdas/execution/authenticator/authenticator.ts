/** Tells who calls. Runs before a byte of the body is read, and fails closed. */
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { Exchange } from "../http/exchange.ts";

/** The scope of tasks: one principal never sees another's. */
type Principal = string;

export type Asked = Pick<Exchange, "header" | "platformPrincipal">;

export type Authenticator = {
  kind: AuthenticatorConfig["type"];
  /**
   * Undefined for everyone who is not to be let in. Rejects with `permission_denied` where it is known who calls and that
   * one may not, with `unauthenticated` where the log may say more than the answer, and with anything else where nothing can
   * be told for now.
   */
  authenticate(request: Asked): Promise<Principal | undefined>;
};

// The token of a request, RFC 6750, section 2.1.

/** Header values are Latin-1: a character is a byte. */
const maxTokenBytes = 8 * 1024;
const scheme = "Bearer ";

/** Undefined where there is none, or where it is longer than any token that could be meant: that is not looked at. */
export function bearerTokenOf({ header }: Asked): string | undefined {
  const value = header("authorization");
  if (value === undefined || value.length > maxTokenBytes + scheme.length) return undefined;
  return /^Bearer +([^\s]+)$/i.exec(value)?.[1];
}
