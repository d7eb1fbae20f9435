/** An authorization server that takes tokens of a trusted issuer for its own: RFC 8693 and RFC 7523. It refuses what its references do not allow. */
import { type Asked, decodeBasic, type Issuer, oauthError, startIssuer } from "./issuer.ts";

export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
export const assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";

export type ExchangeServer = Issuer & {
  tokenUrl: string;
  /** The subjects of the tokens that it issued, in order. Each token is `SUBJECT-NUMBER`, with the subject in hex. */
  subjects: string[];
};

/** `readSubject` returns the subject of a token that it trusts. Without `client` it takes public clients. */
export async function startExchangeServer(options: {
  readSubject: (token: string) => string | undefined;
  client?: { id: string; secret: string };
  /** Replaces members of its answers. */
  answer?: Record<string, unknown>;
}): Promise<ExchangeServer> {
  const { readSubject, client, answer = {} } = options;
  const subjects: string[] = [];
  const issuer = await startIssuer({
    answer(tokenRequest) {
      if (tokenRequest.target !== "/token") return new Response(null, { status: 404 });
      if (client !== undefined && !isClient(tokenRequest, client))
        return oauthError("invalid_client", 401);
      const token = readToken(tokenRequest);
      if (token === undefined) return oauthError("invalid_request");
      const subject = readSubject(token);
      if (subject === undefined) return oauthError("invalid_grant");
      subjects.push(subject);
      return Response.json({
        access_token: tokenFor(subject, subjects.length),
        token_type: "Bearer",
        expires_in: 600,
        ...(tokenRequest.form.grant_type === exchangeGrant && {
          issued_token_type: accessTokenType,
        }),
        ...answer,
      });
    },
  });
  return Object.assign(issuer, { tokenUrl: new URL("/token", issuer.url).href, subjects });
}

export function tokenFor(subject: string, count: number): string {
  return `${Buffer.from(subject).toString("hex")}-${count}`;
}

export function subjectOf(token: string): string {
  return Buffer.from(token.split("-")[0] ?? "", "hex").toString();
}

function readToken({ form }: Asked): string | undefined {
  const { grant_type, subject_token, subject_token_type, requested_token_type, assertion } = form;
  if (grant_type === assertionGrant) return assertion;
  const isExchange =
    grant_type === exchangeGrant &&
    subject_token_type === jwtType &&
    requested_token_type === accessTokenType;
  return isExchange ? subject_token : undefined;
}

/** A client that authenticates in both ways at once is refused (RFC 6749, section 2.3). */
function isClient({ headers, form }: Asked, { id, secret }: { id: string; secret: string }) {
  const basic = headers.get("authorization");
  if (basic !== null && form.client_secret !== undefined) return false;
  const shown = basic === null ? [form.client_id, form.client_secret] : decodeBasic(basic);
  return shown[0] === id && shown[1] === secret;
}
