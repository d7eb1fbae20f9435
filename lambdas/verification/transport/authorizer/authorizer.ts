/** The seam below the transports over HTTP: adds credentials to one outgoing request. */
import { SekishoError } from "../../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../../contracts/loopback.ts";

export type AuthorizableRequest = {
  method: "GET" | "POST";
  url: URL;
  /** Names in lower case; all of them are sent as they are. */
  headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  body: Uint8Array;
  signal: AbortSignal;
};

/** Headers to add, and the certificate to show where the peer asks for one (PEM; `ca` takes the place of the known authorities). */
export type AddedCredentials = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
};

export type Authorizer = {
  /**
   * What to add, at once where it is at hand. Called for each attempt. Rejects with `unauthenticated` where the issuer refuses
   * for good, else with `unavailable`: nothing of the request was sent yet, so nothing is ever in doubt.
   */
  authorize(request: AuthorizableRequest): AddedCredentials | Promise<AddedCredentials>;
  /**
   * Forgets what it had kept, if that is what the peer refused: of many refusals at once the first one renews it. An authorizer
   * without it has nothing to renew.
   */
  refresh?(refused: AddedCredentials): void;
};

// No credentials: for a peer on this machine only.

/** Throws `unauthenticated` for any other host, before a byte is sent. */
export const noAuthorizer: Authorizer = {
  authorize({ url }) {
    if (!isLoopbackHost(url.hostname)) throw new SekishoError("unauthenticated");
    return {};
  },
};
