/** Keeps forwarded messages out of Sekisho, for `slack.context.forwards: false`. */
import { removeForwards } from "../slack/api/shared-files.ts";
import { fieldsOf } from "../slack/context/values.ts";
import type { VerifiedPayload } from "./interpret-payload.ts";

/** Returns the payload without the messages that a person forwards, in a new message and in both versions of an edited one. */
export function removeForwardsOfEvent(verified: VerifiedPayload): VerifiedPayload {
  const payload = fieldsOf(verified.payload);
  if (verified.type !== "events_api" || payload.event === undefined) return verified;
  const event: Record<string, unknown> = { ...removeForwards(payload.event) };
  for (const version of ["message", "previous_message"])
    if (event[version]) event[version] = removeForwards(event[version]);
  return { ...verified, payload: { ...payload, event } };
}
