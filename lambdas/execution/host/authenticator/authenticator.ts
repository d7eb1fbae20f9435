/** Who calls. Asked before anything of a body is read; fails closed. */
import type { AuthenticatorConfig } from "../../../shared/config/authenticator-schema.ts";
import type { Exchange } from "../exchange.ts";

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
