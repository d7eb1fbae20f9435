/** The modals of the simulated Slack: each trigger is good for one modal, for three seconds. */
import { type ModalView, SlackError } from "@sekisho/verification/slack/api/slack.ts";

const lifeMs = 3000;

export type SimModals = {
  /** A person did something that a modal may follow. */
  issue(triggerId: string, atMs: number): void;
  open(request: { triggerId: string; view: ModalView; atMs: number }): void;
  opened(triggerId: string): ModalView | undefined;
};

export function createSimModals(): SimModals {
  const issuedAtMs = new Map<string, number>();
  const views = new Map<string, ModalView>();
  return {
    issue: (triggerId, atMs) => void issuedAtMs.set(triggerId, atMs),
    open({ triggerId, view, atMs }) {
      if (views.has(triggerId))
        throw new SlackError("refused", { slackError: "exchanged_trigger_id" });
      const sinceMs = atMs - (issuedAtMs.get(triggerId) ?? Number.NEGATIVE_INFINITY);
      if (sinceMs > lifeMs) throw new SlackError("refused", { slackError: "expired_trigger_id" });
      views.set(triggerId, view);
    },
    opened: (triggerId) => views.get(triggerId),
  };
}
