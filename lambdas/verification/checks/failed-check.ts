/** Explains why a check got no answer, and says what to do. It shows error codes only, because messages may contain secrets. */
import { SekishoError } from "../../../contracts/errors.ts";
import { type CheckResult, reasonText } from "./check-result.ts";

/** `address` is a URL or an ARN. `timedOutMs` is set if the time-out is the cause. */
type CheckFailure = { thrown: unknown; address: string; authorizer: string; timedOutMs: number | undefined };

export function createFailedCheck({ thrown, address, authorizer, timedOutMs }: CheckFailure): CheckResult {
  const error = toAnsweredError(SekishoError.from(thrown));
  const code = codeIn(error);
  const before =
    credentialText({ error, authorizer }) ?? secretFailureText({ error, authorizer }) ?? cardFailureText(error);
  if (before !== undefined) return { health: "unhealthy", words: before };
  if (timedOutMs !== undefined) return unreachable(`It did not answer within ${timedOutMs / 1000} s.`);
  const words = code === undefined ? undefined : networkText({ code, address });
  if (words !== undefined) return unreachable(words);
  if ((error.reason === "unavailable" || error.reason === "ambiguous") && !hasAnswered(error)) {
    if (code !== undefined) return unreachable(`The connection ended before an answer came (${code}).`);
    if (error.undelivered) return unreachable(`The connection to ${hostOf(address)} did not open in time.`);
    return unreachable("No answer came in time, or the connection ended without one.");
  }
  return { health: "unhealthy", words: reasonText({ reason: error.reason, authorizer }) ?? error.message };
}

/** A bare 503 makes a task's outcome ambiguous, but for a check it is an answer. */
function toAnsweredError(error: SekishoError): SekishoError {
  const { reason, cause } = error;
  return reason === "ambiguous" && cause instanceof SekishoError && cause.reason === "unavailable" ? cause : error;
}

/** Explains a failure to get a credential. Nothing was sent then. Returns undefined for every other failure. */
export function credentialText({ error, authorizer }: { error: SekishoError; authorizer: string }): string | undefined {
  const names = chain(error).map(({ name }) => name);
  const code = codeIn(error);
  if (code === "CredentialsProviderError" || names.includes("CredentialsProviderError")) {
    return "There are no AWS credentials here. Set AWS_PROFILE, or log in as for the AWS command line.";
  }
  if (!names.includes("CredentialError")) return undefined;
  if (code?.startsWith("OutboundWebIdentityFederationDisabled")) {
    return "The AWS account does not issue tokens for others yet. Run npx sekisho federation enable.";
  }
  if (code === "NoAwsRegion") return 'The region of AWS STS is unknown. Set AWS_REGION, or "region" of the authorizer.';
  if (code?.startsWith("AccessDenied")) {
    return "AWS STS denies these credentials what the call needs. They lack the permission, or the role does not trust them.";
  }
  if (error.reason !== "unauthenticated") {
    return `The issuer of its credential cannot be reached, or returns none (${code}).`;
  }
  return authorizer === "mtls"
    ? `The certificate and key cannot be used (${code}): are both PEM, and do they belong together?`
    : `The issuer of its credential refuses (${code}). Check the authorizer, and the issuer's settings.`;
}

/** Explains a credential that the transport itself refused to send. */
function secretFailureText({ error, authorizer }: { error: SekishoError; authorizer: string }): string | undefined {
  return error.reason === "unauthenticated" && error.code === undefined && !hasStatus(error) && authorizer !== "sigv4"
    ? "The configured secret is not a credential that can be sent. Check the secret."
    : undefined;
}

/** Explains a problem with the agent card of an A2A agent. Returns undefined if the card is not the problem. */
export function cardFailureText({ reason, undelivered }: SekishoError): string | undefined {
  if (!undelivered) return undefined;
  if (reason === "version_not_supported")
    return "Its card names no JSON-RPC interface of a version that Sekisho supports.";
  return reason === "invalid_response"
    ? "At the card's address is no agent card, or one whose interface is at another origin: check the address, or set url."
    : undefined;
}

/** An error that was read from an answer has no cause, or one with the HTTP status. */
function hasAnswered(error: SekishoError): boolean {
  return error.cause === undefined || hasStatus(error);
}

function hasStatus({ cause }: SekishoError): boolean {
  return typeof Object(cause).status === "number";
}

function hostOf(address: string): string {
  return URL.parse(address)?.host || address;
}

function networkText({ code, address }: { code: string; address: string }): string | undefined {
  const host = hostOf(address);
  if (code === "ENOTFOUND") return `There is no host ${host}: check the url, or this machine's DNS.`;
  if (code.startsWith("EAI_")) return `DNS does not answer for ${host}: check this machine's network.`;
  if (code === "ECONNREFUSED") return `Nobody listens at ${host}: is it started, and is the port right?`;
  if (/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) {
    return `${host} cannot be reached (${code}). Is there a firewall, a VPN or a proxy?`;
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `The certificate of ${host} is for another name.`;
  if (/^(CERT_|UNABLE_TO_|DEPTH_ZERO|ERR_TLS_CERT|SELF_SIGNED|HOSTNAME_)/.test(code)) {
    return `The certificate of ${host} is not trusted (${code}). It has expired, or its issuer is unknown here.`;
  }
  if (/^(EPROTO|ERR_SSL_|ERR_TLS_)/.test(code)) {
    return `TLS with ${host} fails (${code}). Does it speak https, and does it want a client certificate?`;
  }
  return undefined;
}

function unreachable(words: string): CheckResult {
  return { health: "unreachable", words };
}

/** Returns the first code in the chain of causes. */
function codeIn(error: SekishoError): string | undefined {
  const found = chain(error).find(({ code }) => typeof code === "string" && /^[\w.]{1,80}$/.test(code));
  return typeof found?.code === "string" ? found.code : undefined;
}

type Link = { name?: unknown; code?: unknown; cause?: unknown };

function chain(error: SekishoError): Link[] {
  const links: Link[] = [];
  for (let cause: unknown = error.cause; typeof cause === "object" && cause !== null && links.length < 5; ) {
    const link: Link = cause;
    links.push(link);
    cause = link.cause;
  }
  return links;
}
