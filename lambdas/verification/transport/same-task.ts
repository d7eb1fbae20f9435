/** Whether a response is about the task of its call. Pure. */
import { SekishoError } from "../../../contracts/errors.ts";

/** Of whatever method. */
type Params = { task_id?: string | undefined; correlation_id?: string | undefined } | undefined;

/**
 * Throws `invalid_response` where a result, or an error's details, names another task than the one that was asked about: it says
 * nothing of this one, and an answer in it may be for other people.
 */
export function requireSameTask({ params, told }: { params: Params; told: unknown }): void {
  const { task_id: taskId } = Object(told) as Record<string, unknown>;
  if (params?.task_id !== undefined && isId(taskId) && taskId !== params.task_id) throw aboutAnother();
}

/**
 * The same for a result's `correlation_id`, which is what `execute_task` said, or else the request id. A successful result of our own
 * host has it instead of the task's id; another host need not give it back.
 */
export function requireSameRequest({
  params,
  requestId,
  result,
}: {
  params: Params;
  requestId: string;
  result: unknown;
}): void {
  const { correlation_id: correlationId } = Object(result) as Record<string, unknown>;
  // Request ids are UUIDs, which some write in capitals.
  const asked = (params?.correlation_id ?? requestId).toLowerCase();
  if (isId(correlationId) && correlationId.toLowerCase() !== asked) throw aboutAnother();
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function aboutAnother(): SekishoError {
  return new SekishoError("invalid_response", { cause: new Error("the response is about another task") });
}
