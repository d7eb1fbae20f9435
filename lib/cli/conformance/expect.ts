/** What cases hold an answer against. Each gives what it found or throws a Deviation that says what came. */

import { type Dialect, listErrorCodes } from "../../../contracts/dialects.ts";
import type { JsonRpcErrorObject, RequestId } from "../../../contracts/envelope.ts";
import { decodeError } from "../../../contracts/error-data.ts";
import type { Reason } from "../../../contracts/errors.ts";
import { type MethodName, methods, type ResultOf } from "../../../contracts/methods.ts";
import { Deviation } from "./case.ts";
import type { PeerAnswer } from "./peer-answer.ts";

/** The method's result, in a Response with the id that was sent. */
export function expectResult<M extends MethodName>({
  answer,
  method,
  id,
}: {
  answer: PeerAnswer;
  method: M;
  id: RequestId;
}): ResultOf<M> {
  const { response, came } = answer;
  if (response === undefined || "error" in response) throw new Deviation(came);
  if (response.id !== id) throw new Deviation(`${came}; its id is not the one that was sent`);
  const parsed = methods[method].result.safeParse(response.result);
  if (parsed.success) return parsed.data as ResultOf<M>;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "result"}: ${message}`);
  throw new Deviation(`${came}; ${issues.join("; ")}`);
}

/** An error that means one of `reasons`, in a Response with one of `ids`. Resolves to what came. */
export function expectError({
  answer,
  reasons,
  ids,
  dialect,
}: {
  answer: PeerAnswer;
  reasons: readonly Reason[];
  ids: readonly (RequestId | null)[];
  dialect: Dialect;
}): string {
  const error = readPeerError(answer);
  if (error === undefined) throw new Deviation(answer.came);
  if (!reasons.some((reason) => hasReason({ error, reason, dialect }))) throw new Deviation(answer.came);
  const id = answer.response?.id ?? null;
  if (ids.includes(id)) return answer.came;
  throw new Deviation(`${answer.came}; the id is not ${ids.map((one) => JSON.stringify(one)).join(" or ")}`);
}

export function readPeerError({ response }: PeerAnswer): JsonRpcErrorObject | undefined {
  return response !== undefined && "error" in response ? response.error : undefined;
}

/** By its number, and by what its `data` says where that says anything. */
export function hasReason({
  error,
  reason,
  dialect,
}: {
  error: JsonRpcErrorObject;
  reason: Reason;
  dialect: Dialect;
}): boolean {
  const decoded = decodeError({ error, dialect });
  return listErrorCodes({ reason, dialect }).includes(error.code) && (!decoded.exact || decoded.reason === reason);
}
