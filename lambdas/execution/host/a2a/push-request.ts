/** The notification itself: a task as the version of its push configuration has it (A2A 1.0, section 4.3.3; 0.3, section 9.5); pure. */
import type { A2aTask } from "../../../../contracts/a2a/task.ts";
import { eventToV03 } from "../../../../contracts/a2a/v03/events.ts";
import type { StoredPushConfig } from "../execution-task.ts";

type PushRequest = { url: string; headers: Record<string, string>; body: string };

export function pushRequest({
  config: { url, token, authentication, version },
  task,
}: {
  config: StoredPushConfig;
  task: A2aTask;
}): PushRequest {
  // A scheme alone proves nothing.
  const credentials = authentication?.credentials;
  const contentType = version === "0.3" ? "application/json" : "application/a2a+json";
  return {
    url,
    headers: {
      "content-type": contentType,
      "a2a-version": version,
      ...(credentials !== undefined && { authorization: `${authentication?.scheme} ${credentials}` }),
      ...(token !== undefined && { "x-a2a-notification-token": token }),
    },
    body: JSON.stringify(version === "0.3" ? eventToV03({ task }) : { task }),
  };
}
