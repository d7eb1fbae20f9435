/**
 * The JWT authorizer of AgentCore's runtimes and gateways (`customJWTAuthorizer`):
 * https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/inbound-jwt-authorizer.html
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

type CustomClaim = {
  inboundTokenClaimName: string;
  inboundTokenClaimValueType: "STRING" | "STRING_ARRAY";
  operator: "EQUALS" | "CONTAINS" | "CONTAINS_ANY";
  value: string | readonly string[];
};

export type AgentCoreAuthorizer = {
  discoveryUrl: string;
  allowedAudience?: readonly string[];
  allowedClients?: readonly string[];
  allowedScopes?: readonly string[];
  customClaims?: readonly CustomClaim[];
};

/**
 * It refuses a token that expires within a minute. That is not documented but reported:
 * https://github.com/aws-samples/sample-strands-agent-with-agentcore/pull/265
 */
const minRemainingSeconds = 60;

export async function openAgentCore(
  config: AgentCoreAuthorizer,
  fetchJson: FetchJson,
): Promise<Admits> {
  const {
    discoveryUrl,
    allowedAudience,
    allowedClients,
    allowedScopes,
    customClaims = [],
  } = config;
  if (!/^.+\/\.well-known\/openid-configuration$/.test(discoveryUrl))
    throw new TypeError("ValidationException: discoveryUrl");
  const { issuer, keys } = await discover(discoveryUrl, fetchJson);

  return (token, now) => {
    const { header, claims, isSignedBy } = readToken(token) ?? {};
    // The algorithms are not documented, so that only the one that all take is certain.
    const key = keys.find(({ kid, kty }) => kid === header?.kid && kty === "RSA");
    if (claims === undefined || key === undefined || header?.alg !== "RS256") return false;
    const { iss, aud, exp, client_id, scope } = claims;
    return (
      isSignedBy?.(key) === true &&
      iss === issuer &&
      isNumber(exp) &&
      now + minRemainingSeconds < exp &&
      (allowedAudience === undefined || overlaps(listTexts(aud), allowedAudience)) &&
      (allowedClients === undefined || overlaps(listTexts(client_id), allowedClients)) &&
      (allowedScopes === undefined || overlaps(String(scope).split(" "), allowedScopes)) &&
      customClaims.every((rule) => matches(rule, claims[rule.inboundTokenClaimName]))
    );
  };
}

/** It matches a claim of the top level that is a text or a list of texts. It reaches nothing inside of an object. */
function matches(rule: CustomClaim, claim: unknown): boolean {
  const { inboundTokenClaimValueType: type, operator, value } = rule;
  const values = typeof value === "string" ? [value] : value;
  if (type === "STRING") return operator === "EQUALS" && claim === values[0];
  return Array.isArray(claim) && operator !== "EQUALS" && overlaps(listTexts(claim), values);
}
