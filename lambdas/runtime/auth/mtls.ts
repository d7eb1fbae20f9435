/** The authorizer `mtls`: a client certificate, read by reference. */
import { createSecureContext } from "node:tls";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { type CredentialCacheOptions, createCachedCredential } from "../async/cached-credential.ts";
import { type AddedCredentials, type Authorizer, CredentialError, codeOf } from "./authorizer.ts";

const rereadAfterMs = 5 * 60_000;

/**
 * The certificate, key and CA are in PEM. They are read again after five minutes, or as soon as the peer refuses them, so that a rotated
 * certificate is used. The peer decides whether one has expired. An unusable pair and a URL without TLS are `unauthenticated`.
 */
export function createMtlsAuthorizer(
  options: CredentialCacheOptions & {
    readCertificate: () => Promise<string>;
    readKey: () => Promise<string>;
    readCa?: (() => Promise<string>) | undefined;
  },
): Authorizer {
  const { readCertificate, readKey, readCa, ...cacheOptions } = options;
  const cache = createCachedCredential<AddedCredentials>({
    ...cacheOptions,
    async fetch() {
      const [cert, key, ca] = await Promise.all([readCertificate(), readKey(), readCa?.()]);
      const tls = { cert, key, ...(ca === undefined ? {} : { ca }) };
      check(tls);
      return {
        credential: { tls },
        lifetimeMs: Number.POSITIVE_INFINITY,
        renewAfterMs: rereadAfterMs,
      };
    },
  });
  return {
    authorize({ url }) {
      if (url.protocol !== "https:") throw createRefusal("NoTls");
      return cache.current();
    },
    refresh: (refusedCredentials) =>
      cache.forget((credential) => credential === refusedCredentials),
  };
}

/** Checks the pair here, because the connection would otherwise throw in the middle of a call. */
function check(tls: { cert: string; key: string; ca?: string }): void {
  try {
    createSecureContext(tls);
  } catch (error) {
    throw createRefusal(codeOf(error));
  }
}

function createRefusal(code: string): SekishoError {
  return new SekishoError("unauthenticated", {
    certainty: "undelivered",
    cause: new CredentialError(code),
  });
}
