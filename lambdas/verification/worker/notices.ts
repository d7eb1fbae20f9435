/** Private notices that a request was refused, of which a person gets few. */
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { createConcurrencyLimit } from "../files/concurrency-limit.ts";
import type { Gate } from "../gate/gate.ts";
import { SlackError } from "../slack/api/slack.ts";
import type { Notify } from "./questions.ts";

/** How long a worker waits for Slack to accept a notice. */
const noticeTimeoutMs = 5000;
/**
 * The limit of concurrent notices of one process, so that a slow Slack leaves workers free for answers. People who may not ask have a
 * separate limit of the same size, so that they cannot hold up notices to others.
 */
const maxNoticesAtOnce = 4;

/** Creates the function that tells a person privately that a request was refused, within the limits of `gate/refusals.ts`. */
export function createNotify({ gate }: { gate: Pick<Gate, "isStranger" | "mayRefuse"> }): Notify {
  const noticeLimit = createConcurrencyLimit({ max: maxNoticesAtOnce });
  let strangerNotices = 0;

  /** At the limit, drops a notice to a person who may not ask, and delays any other. */
  async function send({ post, ...notice }: Parameters<Notify>[0]): Promise<void> {
    const { signal } = notice;
    const isStranger = await gate.isStranger(notice);
    signal.throwIfAborted();
    const postIfDue = async () => {
      if (await gate.mayRefuse({ ...notice, user: notice.actor.user, isStranger }))
        await post(signal);
    };
    const work = () => abortable({ promise: postIfDue(), signal });
    if (!isStranger) return noticeLimit.take({ signal, work });
    if (strangerNotices >= maxNoticesAtOnce) return;
    strangerNotices += 1;
    await work().finally(() => {
      strangerNotices -= 1;
    });
  }

  return async (notice) => {
    const deadline = AbortSignal.timeout(noticeTimeoutMs);
    const signal = AbortSignal.any([notice.signal, deadline]);
    try {
      await abortable({ promise: send({ ...notice, signal }), signal });
    } catch (error) {
      if (!(error instanceof SlackError) && !deadline.aborted) throw error;
    }
  };
}
