/** The actions of people and Slack in a run: they post messages, deliver events once or again, and click buttons. */

import { setTimeout as wait } from "node:timers/promises";
import { listButtons } from "@sekisho/local/fake-slack/blocks.ts";
import type { FakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import type { FileOfPerson, PostedByFakePerson } from "@sekisho/local/fake-slack/persons.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { type Delivery, sendEvent } from "@sekisho/local/signed-events.ts";
import { metadataSchema, readPostKey } from "@sekisho/verification/slack/api/post-keys.ts";
import type { Kind, PlannedAsk } from "./plan.ts";

/** `cancel` is a message that asks for a task to be canceled. It is answered like any other. */
export type MessageKind = Kind | "cancel";
export type Message = PostedByFakePerson & { kind: MessageKind };

const notes = {
  name: "notes.txt",
  mimetype: "text/plain",
  bytes: new TextEncoder().encode("private notes"),
};

/** Slack's own delays, forty times as fast. The last is ten times as fast: by then a busy machine has started a killed zone, too. */
export const retryDelaysMs: readonly number[] = [0, 1500, 30_000];

export type People = {
  ask(planned: PlannedAsk): void;
  /** Slack delivers the post of this `ask` again, as another event. */
  tellAgain(planned: PlannedAsk): void;
  cancel(planned: PlannedAsk): void;
  /** Stops the button clicks. Rejects if one of them failed. */
  leave(): Promise<void>;
  messages: readonly Message[];
  /** Resolves when Slack is done with all events. */
  delivered(): Promise<Delivery[]>;
};

export function createPeople({
  fakeSlack,
  eventsUrl,
  signingSecret,
  signal,
}: {
  fakeSlack: FakeSlack;
  eventsUrl: string;
  signingSecret: string;
  signal: AbortSignal;
}): People {
  const messages: Message[] = [];
  const filesUrl = new URL("/", fakeSlack.apiUrl).href;
  const over = new AbortController();
  const clicking: Promise<void>[] = [];
  const byPlan = new Map<PlannedAsk, Message>();
  const deliveries: Promise<Delivery>[] = [];

  function post({
    kind,
    ...words
  }: {
    kind: MessageKind;
    text: string;
    channel: string;
    threadTs: string | undefined;
    files?: readonly FileOfPerson[];
  }) {
    const posts = { ...fakeSlack.ask({ eventsUrl, ...words }), kind };
    messages.push(posts);
    deliveries.push(posts.delivered);
    return posts;
  }

  return {
    ask(planned) {
      const { kind, text, isReply, slackFault, buttonClick } = planned;
      const channel = kind === "refused" ? workspace.directMessages.id : workspace.channel.id;
      const before = messages.findLast(
        (each) => each.message.channel === channel && each.kind !== "asked",
      )?.message;
      if (slackFault !== undefined) fakeSlack.inject(slackFault);
      const threadTs = isReply && before !== undefined ? threadOf(before) : undefined;
      const posts = post({
        kind,
        text,
        channel,
        threadTs,
        ...(kind === "filed" ? { files: [notes] } : {}),
      });
      byPlan.set(planned, posts);
      if (buttonClick !== undefined)
        clicking.push(
          clickUntilTaken({
            fakeSlack,
            eventsUrl,
            asked: posts,
            ...buttonClick,
            signal: AbortSignal.any([signal, over.signal]),
          }),
        );
    },
    tellAgain(planned) {
      const message = byPlan.get(planned)?.message;
      if (message === undefined) return;
      const payload = createEventPayload({ event: "message", message, filesUrl });
      deliveries.push(sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs, signal }));
    },
    cancel(planned) {
      const message = byPlan.get(planned)?.message;
      if (message === undefined) return;
      post({
        kind: "cancel",
        text: "cancel",
        channel: message.channel,
        threadTs: threadOf(message),
      });
    },
    async leave() {
      over.abort();
      await Promise.all(clicking);
    },
    messages,
    delivered: () => Promise.all(deliveries),
  };
}

function threadOf({ ts, threadTs }: PostedByFakePerson["message"]): string {
  return threadTs ?? ts;
}

const lookEveryMs = 300;
const labels = ["Yes", "No"] as const;

/**
 * Answers the agent's question: clicks a button until it is gone, because Slack does not deliver a lost click again. Then the other
 * button is clicked too, which comes too late. Also resolves when `signal` aborts.
 */
async function clickUntilTaken({
  fakeSlack,
  eventsUrl,
  asked: post,
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
    readPostKey(metadataSchema.parse(metadata))?.requestId === post.requestId;
  const { channel, ts, threadTs = ts } = post.message;
  const question = () =>
    fakeSlack
      .thread({ channel, ts: threadTs })
      .find(
        (message) =>
          isOfTask(message) &&
          listButtons(message.blocks ?? []).some(({ button }) => button.text.text === label),
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
