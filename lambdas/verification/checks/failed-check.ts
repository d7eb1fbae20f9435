/** Explains why a check got no usable response, and says what to do. It shows error codes only, because messages may contain secrets. */

import { isUndelivered } from "@sekisho/contracts/certainty.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { findProxyError } from "@sekisho/runtime/http/tunnel.ts";
import { PeerProblem } from "../transport/peer-problem.ts";
import { type CheckResult, reasonText } from "./check-result.ts";

/** `address` is a URL or an ARN. `timedOutMs` is set if the check ended by its time-out. */
type CheckFailure = {
  thrown: unknown;
  address: string;
  authorizer: string;
  timedOutMs: number | undefined;
};

export function createFailedCheck({
  thrown: cause,
  address,
  authorizer,
  timedOutMs,
}: CheckFailure): CheckResult {
  const error = toAnsweredError(SekishoError.from(cause));
  const code = findCode(error);
  const proxyError = findProxyError(error);
  if (proxyError !== undefined) return unreachable(proxyError.message);
  const summaryBeforeSend =
    credentialText({ error, authorizer }) ??
    invalidTokenText({ error, authorizer }) ??
    problemText(error);
  if (summaryBeforeSend !== undefined) return { health: "unhealthy", summary: summaryBeforeSend };
  if (timedOutMs !== undefined)
    return unreachable(`It did not answer within ${timedOutMs / 1000} s.`);
  const summary = code === undefined ? undefined : networkText({ code, address });
  if (summary !== undefined) return unreachable(summary);
  if ((error.reason === "unavailable" || error.reason === "ambiguous") && !hasAnswered(error)) {
    if (code !== undefined)
      return unreachable(`It closed the connection before it responded (${code}).`);
    if (isUndelivered(error)) return unreachable(`Connecting to ${hostOf(address)} took too long.`);
    return unreachable("It did not respond in time, or it closed the connection.");
  }
  const explanation = reasonText({ reason: error.reason, authorizer }) ?? error.message;
  return { health: "unhealthy", summary: `${explanation}${statusNote(error)}` };
}

/** The HTTP status of the response, if the error came in one that was not JSON-RPC. */
export function statusNote(error: SekishoError): string {
  const problem = listCauses(error).find((cause) => cause instanceof PeerProblem);
  return problem?.status === undefined ? "" : ` (HTTP ${problem.status})`;
}

/** After a bare 503 nobody knows whether a task was stored, but a check only needs to know that the peer responded. */
function toAnsweredError(error: SekishoError): SekishoError {
  const { reason, cause } = error;
  return reason === "ambiguous" && cause instanceof SekishoError && cause.reason === "unavailable"
    ? cause
    : error;
}

/** Explains a failure to get a credential, which happens before anything is sent. Returns undefined for every other failure. */
export function credentialText({
  error,
  authorizer,
}: {
  error: SekishoError;
  authorizer: string;
}): string | undefined {
  const names = listCauses(error).map(({ name }) => name);
  const code = findCode(error);
  if (code === "CredentialsProviderError" || names.includes("CredentialsProviderError")) {
    return "No AWS credentials were found. Set AWS_PROFILE, or sign in with the AWS CLI.";
  }
  if (!names.includes("CredentialError")) return undefined;
  if (code?.startsWith("OutboundWebIdentityFederationDisabled")) {
    return `The AWS account does not issue web identity tokens yet. Run ${sekisho} federation enable.`;
  }
  if (code === "NoAwsRegion")
    return 'The AWS region is not known. Set AWS_REGION, or "region" in the authorizer.';
  if (code?.startsWith("AccessDenied")) {
    return "AWS STS denied access. The credentials lack a permission, or the role does not trust them.";
  }
  if (error.reason !== "unauthenticated") {
    return `The credential issuer cannot be reached, or returned no credential (${code}). Try again in a minute.`;
  }
  return authorizer === "mtls"
    ? `The certificate and key cannot be used (${code}). Check that both are PEM and belong together.`
    : `The credential issuer refused the request (${code}). Check the authorizer and the issuer's settings.`;
}

/** Explains a configured token that cannot be sent in an HTTP header, so that nothing was sent. */
function invalidTokenText({
  error,
  authorizer,
}: {
  error: SekishoError;
  authorizer: string;
}): string | undefined {
  return error.reason === "unauthenticated" &&
    error.code === undefined &&
    !hasStatus(error) &&
    authorizer !== "sigv4"
    ? "The configured secret is not a valid token. It must be visible ASCII without spaces."
    : undefined;
}

/** Explains a response or an agent card that cannot be used. Returns undefined if something else is the problem. */
export function problemText({ reason, cause }: SekishoError): string | undefined {
  const isExplained = /^(?:invalid_response|version_not_supported|method_not_found)$/.test(reason);
  return isExplained && cause instanceof PeerProblem ? cause.message : undefined;
}

/** True if the error came in a response. Such an error has no cause, or a cause with the HTTP status. */
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
  if (code === "ENOTFOUND")
    return `DNS has no entry for ${host}. Check the url and the DNS settings.`;
  if (code.startsWith("EAI_"))
    return `The DNS lookup for ${host} failed (${code}). Check the network.`;
  if (code === "ECONNREFUSED")
    return `Nothing is listening at ${host}. Check that it is running, and check the port.`;
  if (/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) {
    return `${host} cannot be reached (${code}). Check the firewall, the VPN and the proxy.`;
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `The certificate of ${host} is for another host name. Check the url.`;
  if (/^(CERT_|UNABLE_TO_|DEPTH_ZERO|ERR_TLS_CERT|SELF_SIGNED|HOSTNAME_)/.test(code)) {
    return `The certificate of ${host} is not trusted (${code}). It may have expired, or its issuer is not known here.`;
  }
  if (/^(EPROTO|ERR_SSL_|ERR_TLS_)/.test(code)) {
    return `The TLS handshake with ${host} failed (${code}). Check that it uses https, and whether it requires a client certificate.`;
  }
  return undefined;
}

function unreachable(summary: string): CheckResult {
  return { health: "unreachable", summary };
}

/** Returns the first code in the chain of causes. */
function findCode(error: SekishoError): string | undefined {
  const causeWithCode = listCauses(error).find(
    ({ code }) => typeof code === "string" && /^[\w.]{1,80}$/.test(code),
  );
  return typeof causeWithCode?.code === "string" ? causeWithCode.code : undefined;
}

type Cause = { name?: unknown; code?: unknown; cause?: unknown };

const maxCauses = 5;

function listCauses(error: SekishoError): Cause[] {
  const causes: Cause[] = [];
  let next: unknown = error.cause;
  while (typeof next === "object" && next !== null && causes.length < maxCauses) {
    const cause: Cause = next;
    causes.push(cause);
    next = cause.cause;
  }
  return causes;
}
