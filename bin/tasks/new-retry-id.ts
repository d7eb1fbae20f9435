/** The id of the next retry of a task. */
import { retryIdOf } from "../../lambdas/verification/ingress/retry-id.ts";
import type { TaskPlace } from "./place.ts";

const maxRetries = 100;

/** The first in the row of its retries that has no record. */
export async function newRetryId({
  place,
  originalId,
}: {
  place: { store: Pick<TaskPlace["store"], "get"> };
  originalId: string;
}): Promise<string> {
  for (let count = 1; count <= maxRetries; count += 1) {
    const id = retryIdOf({ originalId, count });
    if ((await place.store.get({ id })) === undefined) return id;
  }
  throw new Error(`${originalId} has been retried ${maxRetries} times. Ask anew in Slack.`);
}
