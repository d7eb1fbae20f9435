/**
 * The JWT authorizer of an HTTP API of API Gateway:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
 * It names no tolerance for clocks, so that there is none here.
 */
import {
  type Admits,
  discover,
  type FetchJson,
  isNumber,
  listTexts,
  overlaps,
  readToken,
} from "./read-token.ts";

export type ApiGatewayAuthorizer = {
  issuer: string;
  audience: readonly string[];
  /** Of the route. */
  authorizationScopes?: readonly string[];
};

export async function openApiGateway(
  config: ApiGatewayAuthorizer,
  fetchJson: FetchJson,
): Promise<Admits> {
  const { issuer, audience, authorizationScopes } = config;
  const { keys } = await discover(`${issuer}/.well-known/openid-configuration`, fetchJson);

  return (token, now) => {
    const { header, claims, isSignedBy } = readToken(token) ?? {};
    // "Currently, only RSA-based algorithms are supported."
    const key = keys.find(({ kid, kty }) => kid === header?.kid && kty === "RSA");
    if (claims === undefined || key === undefined || header?.alg !== "RS256") return false;
    const { iss, aud, client_id, exp, nbf, iat, scope, scp } = claims;
    // The client counts only for a token without an audience.
    const receivers = listTexts(aud === undefined ? client_id : aud);
    const scopes = [scope, scp].flatMap(listTexts).flatMap((text) => text.split(" "));
    return (
      isSignedBy?.(key) === true &&
      iss === issuer &&
      overlaps(receivers, audience) &&
      isNumber(exp) &&
      now < exp &&
      [nbf, iat].every((start) => start === undefined || (isNumber(start) && start <= now)) &&
      (authorizationScopes === undefined || overlaps(scopes, authorizationScopes))
    );
  };
}
