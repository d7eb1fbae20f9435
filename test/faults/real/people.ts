/** What people and Slack do in a run: messages are posted, and told of once, or again as another event. */

import type { FakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { createEventPayload } from "../../../lib/local/fake-slack/payloads.ts";
import type { FileOfPerson, PostedByFakePerson } from "../../../lib/local/fake-slack/persons.ts";
import { workspace } from "../../../lib/local/fake-slack/workspace.ts";
import { type Delivery, sendEvent } from "../../../lib/local/signed-events.ts";
import { clickUntilTaken } from "./click-until-taken.ts";
import type { Kind, PlannedAsk } from "./plan.ts";

/** `cancel` is the message that somebody wants a task canceled: it is answered like any other. */
export type MessageKind = Kind | "cancel";
export type Message = PostedByFakePerson & { kind: MessageKind };

const notes = { name: "notes.txt", mimetype: "text/plain", bytes: new TextEncoder().encode("private notes") };

/** Slack's own moments of redelivery, forty times as fast. */
export const retryDelaysMs: readonly number[] = [0, 1500, 7500];

export type People = {
  ask(planned: PlannedAsk): void;
  /** Slack tells of the post of this `ask` again. */
  tellAgain(planned: PlannedAsk): void;
  cancel(planned: PlannedAsk): void;
  /** Nobody presses a button any more. Rejects where somebody could not. */
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
  const pressing: Promise<void>[] = [];
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
    const asked = { ...fakeSlack.ask({ eventsUrl, ...words }), kind };
    messages.push(asked);
    deliveries.push(asked.delivered);
    return asked;
  }

  return {
    ask(planned) {
      const { kind, text, isReply, slackFault, buttonClick } = planned;
      const channel = kind === "refused" ? workspace.directMessages.id : workspace.channel.id;
      const before = messages.findLast((each) => each.message.channel === channel && each.kind !== "asked")?.message;
      if (slackFault !== undefined) fakeSlack.inject(slackFault);
      const threadTs = isReply && before !== undefined ? threadOf(before) : undefined;
      const asked = post({ kind, text, channel, threadTs, ...(kind === "filed" ? { files: [notes] } : {}) });
      byPlan.set(planned, asked);
      if (buttonClick !== undefined)
        pressing.push(
          clickUntilTaken({
            fakeSlack,
            eventsUrl,
            asked,
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
      post({ kind: "cancel", text: "cancel", channel: message.channel, threadTs: threadOf(message) });
    },
    async leave() {
      over.abort();
      await Promise.all(pressing);
    },
    messages,
    delivered: () => Promise.all(deliveries),
  };
}

function threadOf({ ts, threadTs }: PostedByFakePerson["message"]): string {
  return threadTs ?? ts;
}
