/** Turns a destination's answer to a health request into a check result that says what to do. */

import { type Dialect, listErrorCodes } from "../../../contracts/dialects.ts";
import { type JsonRpcErrorObject, responseSchema } from "../../../contracts/envelope.ts";
import { decodeError } from "../../../contracts/error-data.ts";
import type { ClientReason, Reason } from "../../../contracts/errors.ts";
import { parseJson } from "../../shared/untrusted-input.ts";
import { statusToReason } from "../transport/read-response.ts";
import type { TransportResponse } from "../transport/transport.ts";

export type HealthRequest = {
  method: string;
  params: object;
  /** Errors that also prove health, because the destination understood the request. */
  understood: readonly Reason[];
  /** Called with a result, or with the code of an understood error. */
  toCheckResult(answer: { result: unknown } | { code: number }): CheckResult;
};

/** `unreachable` means that nothing answered. `summary` is for people. The only peer text in it is the peer's own name and version. */
export type CheckResult = {
  health: "healthy" | "unhealthy" | "unreachable";
  summary: string;
  /** The methods in the destination's OpenRPC document. Absent without one. */
  methods?: string[];
};

type AnsweredRequest = {
  response: TransportResponse;
  id: string;
  dialect: Dialect;
  /** The authorizer's type. */
  authorizer: string;
  /** The request that was sent. */
  question: HealthRequest;
};

export function createAnsweredCheck(answered: AnsweredRequest): CheckResult {
  const { response, id, authorizer, question } = answered;
  const envelope = responseSchema.safeParse(parseJson(response.body)).data;
  if (envelope === undefined) return withoutEnvelope(response.status, authorizer);
  if ("error" in envelope) return toErrorResult(envelope.error, answered);
  if (envelope.id !== id) return createUnhealthyResult("It answers with the wrong id, which is not valid JSON-RPC.");
  return question.toCheckResult({ result: envelope.result });
}

/** Explains a reason and says what to do. Returns undefined for reasons that do not speak against the health of a destination. */
export function reasonText({ reason, authorizer }: { reason: ClientReason; authorizer: string }): string | undefined {
  switch (reason) {
    case "unauthenticated":
      return `It does not know the caller. ${credentialHint(authorizer)}`;
    case "permission_denied":
      return `It does not let the caller in. ${credentialHint(authorizer)}`;
    case "rate_limited":
      return "It asks for fewer calls. Try again in a minute.";
    case "unavailable":
      return "It answers that it is not available now. Try again in a minute; then look at its own log.";
    case "agent_not_found":
      return "There is no such agent or runtime: check the address.";
    case "payload_too_large":
      return "Its answer is larger than maxResponseBytes, or the request is too large for it.";
    case "invalid_response":
      return "The answer is not JSON. Is it a page, a redirect or compressed? Check the address and its path.";
    case "ambiguous":
      return "It failed, or something in front of it did. Look at its log.";
    default:
      return undefined;
  }
}

/** An error that the request does not expect says nothing about whether the peer would take a task. */
function toErrorResult(error: JsonRpcErrorObject, answered: AnsweredRequest): CheckResult {
  const { response, dialect, authorizer, question } = answered;
  const { code } = error;
  const { reason, exact } = decodeError({ error, dialect, status: response.status });
  const mayMean = (one: Reason) => (exact ? reason === one : listErrorCodes({ reason: one, dialect }).includes(code));
  if (question.understood.some(mayMean)) return question.toCheckResult({ code });
  const summary = reasonText({ reason, authorizer });
  if (summary !== undefined && exact) return createUnhealthyResult(summary);
  if (reason === "internal" && exact) return createUnhealthyResult("It fails with an internal error. Look at its log.");
  return createUnhealthyResult(
    `It answers with an error that does not say whether it could be used (error ${code}). Look at its log.`,
  );
}

function withoutEnvelope(status: number | undefined, authorizer: string): CheckResult {
  const statusNote = status === undefined ? "" : ` (HTTP ${status})`;
  if (status === 404 || status === 405)
    return createUnhealthyResult(`There is nothing to call at this path${statusNote}: check the url.`);
  if (status === undefined || status < 400)
    return createUnhealthyResult(`Its answer is not JSON-RPC${statusNote}: check the url.`);
  const summary = reasonText({ reason: statusToReason(status), authorizer });
  return createUnhealthyResult(`${summary ?? "It refuses the call."}${statusNote}`);
}

function credentialHint(authorizer: string): string {
  switch (authorizer) {
    case "none":
      return "Give the destination an authorizer.";
    case "sigv4":
      return "Its policy must name the role, and the role needs permission for the call.";
    case "web-identity":
    case "google":
    case "azure":
      return "The other side must know the issuer, the audience and the role: npx sekisho federation show.";
    case "mtls":
      return "Is the certificate the one that it expects, and not expired?";
    default:
      return "Is the token or secret the one that it expects?";
  }
}

function createUnhealthyResult(summary: string): CheckResult {
  return { health: "unhealthy", summary };
}
