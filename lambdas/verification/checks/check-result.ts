/** Turns a destination's response to a health request into a check result with advice for an operator. */

import { isGuessed } from "@sekisho/contracts/certainty.ts";
import { type Dialect, listErrorCodes } from "@sekisho/contracts/dialects.ts";
import { type JsonRpcErrorObject, responseSchema } from "@sekisho/contracts/envelope.ts";
import { decodeError } from "@sekisho/contracts/error-data.ts";
import type { ClientReason, Reason } from "@sekisho/contracts/errors.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { parseJson, sanitizeLine, truncate } from "@sekisho/runtime/untrusted-input.ts";
import { createResponseProblem } from "../transport/peer-problem.ts";
import { readRefusedMembers, statusToReason } from "../transport/response-error.ts";
import type { TransportResponse } from "../transport/transport.ts";

export type HealthRequest = {
  method: string;
  params: object;
  /** Errors that also prove health, because the destination understood the request. */
  healthyReasons: readonly Reason[];
  /** Words of a peer's message, in lower case, that prove health whatever the error's number is. */
  healthyWords?: string;
  /** Called with a result, or with the code of an error in `healthyReasons`. */
  toCheckResult(answer: { result: unknown } | { code: number }): CheckResult;
};

/**
 * `unreachable` means that nothing responded. `summary` is for people: the problem in the first sentence, then what to do. The only peer
 * text in it is the peer's name, versions, bindings, URLs, and the names of members.
 */
export type CheckResult = {
  health: "healthy" | "unhealthy" | "unreachable";
  summary: string;
};

type AnsweredRequest = {
  response: TransportResponse;
  id: string;
  dialect: Dialect;
  /** The authorizer's type. */
  authorizer: string;
  /** The request that was sent. */
  healthRequest: HealthRequest;
};

export function createAnsweredCheck(answeredRequest: AnsweredRequest): CheckResult {
  const { response, id, authorizer, healthRequest } = answeredRequest;
  const envelope = responseSchema.safeParse(parseJson(response.body)).data;
  if (envelope === undefined) return toStatusResult(response, authorizer);
  if ("error" in envelope) return toErrorResult(envelope.error, answeredRequest);
  if (envelope.id !== id)
    return createUnhealthyResult("Its response has the wrong id, so it is not valid JSON-RPC.");
  return healthRequest.toCheckResult({ result: envelope.result });
}

/** Explains a reason and says what to do. Returns undefined for reasons that say nothing about the health of a destination. */
export function reasonText({
  reason,
  authorizer,
}: {
  reason: ClientReason;
  authorizer: string;
}): string | undefined {
  switch (reason) {
    case "unauthenticated":
      return `It could not authenticate the caller. ${credentialHint(authorizer)}`;
    case "permission_denied":
      return `It denied access to the caller. ${credentialHint(authorizer)}`;
    case "asker_unverified":
      return "It takes tasks with a valid token of the person who asked only. A command sends none: ask in Slack, or on the local page. If those are refused too, set asker at the destination, compare its audience and asker.issuer with what the destination expects (execution.asker of our own host), and check that the issuer's keys are published.";
    case "rate_limited":
      return "It limits the rate of calls. Try again in a minute.";
    case "unavailable":
      return "It is temporarily unavailable. Try again in a minute. If that does not help, look at its log.";
    case "agent_not_found":
      return "No such agent or runtime exists. Check the address.";
    case "version_not_supported":
      return "It does not support the version of A2A that it was called with. A runtime of AgentCore has to allow the header A2A-Version, or it takes every call for one of 0.3.";
    case "payload_too_large":
      return "Its response is larger than maxResponseBytes, or it rejects the request as too large.";
    case "invalid_response":
      return "Its response is not JSON-RPC as the contract wants it. Check the address and its path.";
    case "ambiguous":
      return "It or a proxy in front of it failed. Look at its log.";
    default:
      return undefined;
  }
}

/** An unexpected error counts as unhealthy, because it does not show that the peer can run tasks. */
function toErrorResult(error: JsonRpcErrorObject, answeredRequest: AnsweredRequest): CheckResult {
  const { response, dialect, authorizer, healthRequest } = answeredRequest;
  const { code, message } = error;
  const sekishoError = decodeError({ error, dialect, status: response.status });
  const { reason } = sekishoError;
  const hasReason = !isGuessed(sekishoError);
  const canMean = (one: Reason) =>
    hasReason ? reason === one : listErrorCodes({ reason: one, dialect }).includes(code);
  const { healthyWords, healthyReasons } = healthRequest;
  const saysSo = healthyWords !== undefined && message.toLowerCase().includes(healthyWords);
  if (saysSo || healthyReasons.some(canMean)) return healthRequest.toCheckResult({ code });
  const summary = reasonText({ reason, authorizer });
  if (summary !== undefined && hasReason) return createUnhealthyResult(summary);
  if (reason === "internal" && hasReason)
    return createUnhealthyResult("It failed with an internal error. Look at its log.");
  return createUnhealthyResult(
    `It returned error ${code}, which does not show whether it can run tasks. Look at its log.`,
  );
}

/** For a response that is not JSON-RPC. */
function toStatusResult(response: TransportResponse, authorizer: string): CheckResult {
  const { status } = response;
  const reason = status === undefined ? "invalid_response" : statusToReason(status);
  const summary = reason === "invalid_response" ? undefined : reasonText({ reason, authorizer });
  if (summary !== undefined) return createUnhealthyResult(`${summary} (HTTP ${status})`);
  const { issues = [] } = readRefusedMembers(response);
  const members = issues
    .slice(0, maxMembers)
    .map(({ path }) => truncate(sanitizeLine(path), maxPathLength));
  const complaint = members.length === 0 ? "" : ` It complains of ${members.join(", ")}.`;
  return createUnhealthyResult(`${createResponseProblem(response).message}${complaint}`);
}

const maxMembers = 10;
const maxPathLength = 100;

function credentialHint(authorizer: string): string {
  switch (authorizer) {
    case "none":
      return "Configure an authorizer for it.";
    case "sigv4":
      return "Its policy must allow the calling role, and the role needs permission for the call.";
    case "web-identity":
    case "google":
    case "azure":
      return `It must trust the issuer, the audience and the role that ${sekisho} federation show prints.`;
    case "mtls":
      return "Check that the certificate is the one it expects and has not expired.";
    default:
      return "Check that the token or secret is the one it expects.";
  }
}

function createUnhealthyResult(summary: string): CheckResult {
  return { health: "unhealthy", summary };
}
