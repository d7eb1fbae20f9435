/** A user pool of Amazon Cognito: its token endpoint for machines, its keys, and the tokens of people who signed in. */
import { randomUUID } from "node:crypto";
import { decodeBasic, type Issuer, oauthError, startIssuer } from "./issuer.ts";
import { newKey, publicJwk, signWith } from "./jwks.ts";

export type Cognito = Issuer & {
  /** The `iss` of its tokens. It has a path, as the real one: `https://cognito-idp.REGION.amazonaws.com/POOL`. */
  issuer: string;
  tokenUrl: string;
  /** The tokens of a person who signed in with an app client. Each kind has a key of its own. */
  signIn(request: {
    clientId: string;
    user: string;
  }): Promise<{ accessToken: string; idToken: string }>;
  /** Signs claims that Cognito itself would not issue with the key of its access tokens. `undefined` leaves a claim out. */
  forge(claims: Record<string, unknown>): Promise<string>;
};

const pool = "eu-central-1_AbCdEfGhI";
const lifetimeSeconds = 3600;

/**
 * `secret` and `scopes` are those of the only app client for machines, which must name its scopes with their resource server. Sources: the pages
 * token-endpoint, amazon-cognito-user-pools-using-the-access-token and …-using-the-id-token of the developer guide.
 */
export async function startCognito(client: {
  id: string;
  secret: string;
  scopes: readonly string[];
}): Promise<Cognito> {
  const [accessKey, idKey] = await Promise.all([newKey("RS256"), newKey("RS256")]);
  const issuer = await startIssuer({
    async answer({ target, headers, form }) {
      if (target === `/${pool}/.well-known/openid-configuration`)
        return Response.json({
          issuer: iss(),
          jwks_uri: `${iss()}/.well-known/jwks.json`,
          token_endpoint: tokenUrl(),
        });
      if (target === `/${pool}/.well-known/jwks.json`)
        return Response.json({ keys: await Promise.all([publicJwk(idKey), publicJwk(accessKey)]) });
      if (target !== "/oauth2/token") return new Response(null, { status: 404 });
      const { grant_type, scope, ...rest } = form;
      const basic = headers.get("authorization");
      if (basic !== null && rest.client_secret !== undefined) return oauthError("invalid_request");
      const [id, secret] =
        basic === null ? [rest.client_id, rest.client_secret] : decodeBasic(basic);
      if (id !== client.id || secret !== client.secret) return oauthError("invalid_client");
      if (grant_type !== "client_credentials") return oauthError("unsupported_grant_type");
      const scopes = scope === undefined ? client.scopes : scope.split(" ");
      if (!scopes.every((each) => client.scopes.includes(each))) return oauthError("invalid_scope");
      const claims = { ...accessClaims({ sub: id, clientId: id }), scope: scopes.join(" ") };
      const access_token = await signWith({ key: accessKey, payload: claims, header: {} });
      return Response.json({ access_token, expires_in: lifetimeSeconds, token_type: "Bearer" });
    },
  });
  const base = issuer.url.origin;
  const iss = () => `${base}/${pool}`;
  const tokenUrl = () => `${base}/oauth2/token`;

  function times() {
    const iat = Math.floor(Date.now() / 1000);
    return { iss: iss(), auth_time: iat, iat, exp: iat + lifetimeSeconds, jti: randomUUID() };
  }

  /** An access token has no `aud` unless its client asked for a resource (RFC 8707). The token of a machine has the client as its subject. */
  function accessClaims({
    sub,
    clientId,
  }: {
    sub: string;
    clientId: string;
  }): Record<string, unknown> {
    return { ...times(), sub, token_use: "access", version: 2, client_id: clientId };
  }

  return Object.assign(issuer, {
    issuer: iss(),
    tokenUrl: tokenUrl(),
    async signIn({ clientId, user }: { clientId: string; user: string }) {
      const common = {
        "cognito:groups": ["agents"],
        origin_jti: randomUUID(),
        event_id: randomUUID(),
      };
      const access = {
        ...accessClaims({ sub: user, clientId }),
        ...common,
        scope: "openid",
        username: "kim",
      };
      const identity = {
        ...times(),
        ...common,
        sub: user,
        aud: clientId,
        token_use: "id",
        "cognito:username": "kim",
      };
      const accessToken = await signWith({ key: accessKey, payload: access });
      return { accessToken, idToken: await signWith({ key: idKey, payload: identity }) };
    },
    forge: (claims: Record<string, unknown>) =>
      signWith({
        key: accessKey,
        payload: { ...accessClaims({ sub: client.id, clientId: client.id }), ...claims },
      }),
  });
}
