/** Compares an answer with what a case expects. Throws a Deviation that says what came. */
import { isGuessed } from "@sekisho/contracts/certainty.ts";
import { listErrorCodes } from "@sekisho/contracts/dialects.ts";
import type { JsonRpcErrorObject, RequestId } from "@sekisho/contracts/envelope.ts";
import { decodeError } from "@sekisho/contracts/error-data.ts";
import type { Reason } from "@sekisho/contracts/errors.ts";
import { type MethodName, methods, type ResultOf } from "@sekisho/contracts/methods.ts";
import { Deviation, NotApplicable } from "./deviation.ts";
import type { PeerAnswer } from "./peer.ts";

/** Returns the method's result from a Response with the id that was sent. */
export function expectResult<M extends MethodName>(answer: PeerAnswer, method: M): ResultOf<M> {
  const { response, came, id } = answer;
  if (response === undefined || "error" in response) throw new Deviation(came);
  if (response.id !== id) throw new Deviation(`${came}; its id is not the one that was sent`);
  const result = methods[method].result.safeParse(response.result);
  if (result.success) return result.data as ResultOf<M>;
  const issues = result.error.issues.map(
    ({ path, message }) => `${path.join(".") || "result"}: ${message}`,
  );
  throw new Deviation(`${came}; ${issues.join("; ")}`);
}

/** Accepts an error that means one of `reasons`, in a Response with one of `ids`. Returns what came. */
export function expectError(
  answer: PeerAnswer,
  reasons: readonly Reason[],
  ids: readonly (RequestId | null)[] = [answer.id],
): string {
  if (!hasReason(answer, reasons)) throw new Deviation(answer.came);
  const id = answer.response?.id ?? null;
  if (ids.includes(id) || (id === null && mayLackId(answer))) return answer.came;
  throw new Deviation(
    `${answer.came}; the id is not ${ids.map((id) => JSON.stringify(id)).join(" or ")}`,
  );
}

/** Errors in VAPORA's dialect have no id (docs/reference/contract.md, Dialects). */
export function mayLackId({ dialect }: PeerAnswer): boolean {
  return dialect === "vapora";
}

export function readPeerError({ response }: PeerAnswer): JsonRpcErrorObject | undefined {
  return response !== undefined && "error" in response ? response.error : undefined;
}

/** Not checked in any way. */
export function readPeerResult({ response }: PeerAnswer): unknown {
  return response !== undefined && "result" in response ? response.result : undefined;
}

/** True if an optional field has a value: `null` and `""` mean that it is absent (docs/reference/contract.md, Envelope). */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/** True if it is an error with one of these reasons, by its number, and by its `data` where that names a reason. */
export function hasReason(answer: PeerAnswer, reasons: readonly Reason[]): boolean {
  const error = readPeerError(answer);
  if (error === undefined) return false;
  const { dialect } = answer;
  const sekishoError = decodeError({ error, dialect });
  return reasons.some((reason) => {
    const hasCode = listErrorCodes({ reason, dialect }).includes(error.code);
    return hasCode && (isGuessed(sekishoError) || sekishoError.reason === reason);
  });
}

/** True if the error's `data` names one of these reasons, whatever its number is. */
export function namesReason(answer: PeerAnswer, reasons: readonly Reason[]): boolean {
  const error = readPeerError(answer);
  if (error === undefined) return false;
  const { reason } = decodeError({ error, dialect: answer.dialect });
  return reasons.some((one) => one === reason);
}

/** Expects that a task of another caller is unknown or refused. */
export function expectUnseenTask(answer: PeerAnswer): string {
  return expectError(answer, ["task_not_found", "permission_denied", "method_not_found"]);
}

/** True if the caller was refused, by the HTTP status alone or by an error. */
export function isRefusedCaller(answer: PeerAnswer): boolean {
  const hasStatus =
    answer.response === undefined && (answer.status === 401 || answer.status === 403);
  return hasStatus || hasReason(answer, ["unauthenticated", "permission_denied"]);
}

/** The error of an endpoint that has no such method. Such an endpoint is not asked about the method. */
export function skipWithoutMethod(answer: PeerAnswer, method: string): void {
  if (hasReason(answer, ["method_not_found"]))
    throw new NotApplicable(`the endpoint has no ${method}`);
}

/** A result without what may differ at each read: the order of keys, and the query of an artifact's `url`, which may be signed anew. */
export function comparable(result: unknown): string {
  const { artifacts } = Object(result);
  const plain = Array.isArray(artifacts)
    ? { ...Object(result), artifacts: artifacts.map(withoutQuery) }
    : result;
  return JSON.stringify(plain, (_key, value) => (isRecord(value) ? sortKeys(value) : value));
}

function withoutQuery(artifact: unknown): unknown {
  const { url } = Object(artifact);
  return typeof url === "string"
    ? { ...Object(artifact), url: url.replace(/\?[^#]*/, "") }
    : artifact;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sortKeys(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Runs `one` for each step, and returns the last answer's description. */
export async function eachStep<T>(
  { step }: { step: (what: string) => void },
  steps: readonly (readonly [what: string, value: T])[],
  one: (value: T) => Promise<string>,
): Promise<string> {
  let came = "";
  for (const [what, value] of steps) {
    step(what);
    came = await one(value);
  }
  return came;
}
