/** Somebody answers the agent's question: presses a button until it is gone, since what Slack could not bring it does not bring again. */
import { setTimeout as wait } from "node:timers/promises";
import { metadataSchema, readPostKey } from "../../../lambdas/verification/slack/api/posts.ts";
import { listButtons } from "../../../lib/local/fake-slack/blocks.ts";
import type { FakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import type { FakeSlackMessage } from "../../../lib/local/fake-slack/messages.ts";
import type { PostedByFakePerson } from "../../../lib/local/fake-slack/persons.ts";

const lookEveryMs = 300;
const labels = ["Yes", "No"] as const;

/** After `label` the other one is pressed too, which comes too late. Resolves when `signal` aborts, too. */
export async function clickUntilTaken({
  fakeSlack,
  eventsUrl,
  asked,
  label,
  afterMs,
  signal,
}: {
  fakeSlack: FakeSlack;
  eventsUrl: string;
  asked: PostedByFakePerson;
  label: (typeof labels)[number];
  afterMs: number;
  signal: AbortSignal;
}): Promise<void> {
  const inTurn = [label, ...labels.filter((each) => each !== label)];
  const isOfTask = ({ metadata }: FakeSlackMessage) =>
    readPostKey(metadataSchema.parse(metadata))?.requestId === asked.requestId;
  const { channel, ts, threadTs = ts } = asked.message;
  const question = () =>
    fakeSlack
      .thread({ channel, ts: threadTs })
      .find(
        (message) =>
          isOfTask(message) && listButtons(message.blocks ?? []).some(({ button }) => button.text.text === label),
      );
  const pause = (ms: number) => wait(ms, undefined, { signal }).catch(() => {});

  let isThere = false;
  for (; !signal.aborted; await pause(lookEveryMs)) {
    const found = question();
    if (found === undefined && isThere) return;
    if (found === undefined) continue;
    if (!isThere) await pause(afterMs);
    isThere = true;
    for (const each of question() === undefined ? [] : inTurn)
      fakeSlack.clickButton({ eventsUrl, channel, ts: found.ts, label: each });
  }
}
