/**
 * The authorizer `token-exchange`: trades a token that says who asked at an authorization server that trusts its issuer (RFC 8693 or
 * RFC 7523). It is a file beside the worker (`lazyInWorker` in lib/cdk/bundle/entry.ts), so what needs the network is passed in.
 */
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  genericTokenEndpointRequest,
  None,
  processGenericTokenEndpointResponse,
} from "oauth4webapi";
import type { AskerAudience, AskerTokens } from "../asker/asker.ts";
import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import {
  type Authorizer,
  codeOf,
  createCredentialError,
  type OutgoingRequest,
} from "./authorizer.ts";
import { createPersonalAuthorizer } from "./personal.ts";
import type { postToIssuer } from "./post-to-issuer.ts";
import { createTokenAuthorizer, type FreshToken } from "./token-authorizer.ts";

/** The authorization server, and what it is asked for. A client without a secret is public. */
export type TokenServer = {
  tokenUrl: string;
  grant: "token-exchange" | "jwt-bearer";
  clientId?: string | undefined;
  clientAuthentication: "basic" | "post";
  readClientSecret?: (() => Promise<string>) | undefined;
  audience?: string | undefined;
  resource?: string | undefined;
  scope?: string | undefined;
};

type TokenExchangeOptions = TokenServer & { post: typeof postToIssuer };

/**
 * The server is asked once for each person until its token expires. In the Verification zone `asker` makes the token to trade, for the
 * audience `subjectAudience`. In the Execution zone it is the one that the host has received.
 */
export function createTokenExchangeAuthorizer(
  options: CredentialCacheOptions &
    TokenExchangeOptions & {
      asker?: { tokens: AskerTokens; to: AskerAudience } | undefined;
      subjectAudience?: string | undefined;
    },
): Authorizer {
  const { asker, subjectAudience = options.tokenUrl } = options;
  const to = asker && { ...asker.to, audience: subjectAudience };

  /** Rejects without a token of the person, so that an agent is never called as the host itself. */
  async function readSubject({ asker: person, received }: OutgoingRequest, signal: AbortSignal) {
    if (received !== undefined) return received.token;
    if (asker === undefined || to === undefined)
      throw createCredentialError({ status: 401, code: "NoAskerToken" });
    // All calls of one person share the new token, so the traded one is for no single request.
    const anyCall = person && { ...person, isOwnWord: false };
    return asker.tokens.issue({ to, asker: anyCall, body: new Uint8Array(), signal });
  }

  return createPersonalAuthorizer((latestRequest) =>
    createTokenAuthorizer({
      ...options,
      async fetchToken({ signal }) {
        const subjectToken = await readSubject(latestRequest(), signal);
        return exchangeToken({ ...options, subjectToken, signal });
      },
    }),
  );
}

/** A server may say a year. Someone who may no longer act must not be served for longer than this. */
const maxLifetimeSeconds = 3600;
/** For a server that does not say it. */
const defaultLifetimeSeconds = 300;

/** Rejects with `unauthenticated` if the server refuses, else with `unavailable`. No error contains a token. */
async function exchangeToken(
  request: TokenExchangeOptions & { subjectToken: string; signal: AbortSignal },
): Promise<FreshToken> {
  const { tokenUrl, grant, clientId = "", subjectToken, post, signal } = request;
  const { audience, resource, scope } = request;
  // The library wants an issuer and an id, and sends neither by itself.
  const server = { issuer: tokenUrl, token_endpoint: tokenUrl };
  const client = { client_id: clientId || "none" };
  const response = await genericTokenEndpointRequest(
    server,
    client,
    await createClientAuth(request),
    grants[grant],
    {
      ...createSubject(grant, subjectToken),
      ...(audience !== undefined && { audience }),
      ...(resource !== undefined && { resource }),
      ...(scope !== undefined && { scope }),
    },
    {
      // `post` checks the address.
      [allowInsecureRequests]: true,
      async [customFetch](url, { body, headers }) {
        const answer = await post({ url, body, headers, signal });
        // An ID token would be checked against an issuer that is not known here, and nobody needs it.
        return Response.json({ ...answer, id_token: undefined });
      },
    },
  );
  const answer = await processGenericTokenEndpointResponse(server, client, response).catch(
    (error: unknown) => {
      throw createCredentialError({ code: codeOf(error) });
    },
  );
  const { access_token: token, token_type: type, issued_token_type: issuedType } = answer;
  if (type !== "bearer" || !isUsableType(issuedType))
    throw createCredentialError({ code: "NoToken" });
  const { expires_in: seconds = defaultLifetimeSeconds } = answer;
  return { token, lifetimeMs: 1000 * Math.min(seconds, maxLifetimeSeconds) };
}

const grants = {
  "token-exchange": "urn:ietf:params:oauth:grant-type:token-exchange",
  "jwt-bearer": "urn:ietf:params:oauth:grant-type:jwt-bearer",
} as const;

const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
} as const;

/** Servers must say it for a token exchange (RFC 8693, section 2.2.1), but some do not. A refresh token or an ID token is no bearer token. */
function isUsableType(type: unknown): boolean {
  return type === undefined || type === tokenTypes.accessToken || type === tokenTypes.jwt;
}

/** The type `access_token` is for tokens that the server itself issued (RFC 8693, section 3); those of another issuer are of the type `jwt`. */
function createSubject(grant: TokenServer["grant"], token: string): Record<string, string> {
  if (grant === "jwt-bearer") return { assertion: token };
  return {
    subject_token: token,
    subject_token_type: tokenTypes.jwt,
    requested_token_type: tokenTypes.accessToken,
  };
}

async function createClientAuth(server: TokenServer): Promise<ClientAuth> {
  const { clientId, clientAuthentication, readClientSecret } = server;
  if (clientId === undefined) return () => {};
  if (readClientSecret === undefined) return None();
  const secret = await readClientSecret();
  return clientAuthentication === "basic" ? ClientSecretBasic(secret) : ClientSecretPost(secret);
}
