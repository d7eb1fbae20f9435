/** The zone contract's response to a call: with the result, or with the error that the task ended with. Pure. */
import { encodeError } from "../../../../contracts/encode-error.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import type { ResultOf, TaskResult } from "../../../../contracts/methods.ts";
import type { TransportResponse } from "../transport.ts";

/** Throws `invalid_response` for what cannot be written: the agent has answered by then, so that it must not read as never sent. */
export function respond({
  call: { id },
  outcome,
  shortened,
}: {
  call: { id: string };
  outcome: TaskResult | ResultOf<"cancel_task"> | SekishoError;
  shortened?: true | undefined;
}): TransportResponse {
  const member =
    outcome instanceof SekishoError ? { error: encodeError({ error: outcome, dialect: "zone" }) } : { result: outcome };
  try {
    return { body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, ...member })), shortened };
  } catch (cause) {
    throw new SekishoError("invalid_response", { cause });
  }
}
