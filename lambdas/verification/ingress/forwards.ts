/** Keeps forwarded messages out of Sekisho, for `slack.context.forwards: false`. */
import { removeForwards } from "../slack/api/shared-files.ts";
import { fieldsOf } from "../slack/context/values.ts";
import type { VerifiedPayload } from "./interpret-payload.ts";

/** Returns the payload without the messages that a person forwards, in a new message and in both versions of an edited one. */
export function removeForwardsOfEvent(verifiedPayload: VerifiedPayload): VerifiedPayload {
  const payload = fieldsOf(verifiedPayload.payload);
  if (verifiedPayload.type !== "events_api" || payload.event === undefined) return verifiedPayload;
  const event: Record<string, unknown> = { ...removeForwards(payload.event) };
  for (const version of ["message", "previous_message"])
    if (event[version]) event[version] = removeForwards(event[version]);
  return { ...verifiedPayload, payload: { ...payload, event } };
}
