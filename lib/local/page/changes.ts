/** The events that the page in the browser gets: everything at first, then each change. */
import type { FakeSlackChange } from "../fake-slack/state.ts";
import { channels, type FakeSlackChannel, people, workspace } from "../fake-slack/workspace.ts";
import type { RecordedSlack } from "../recorder/slack-steps.ts";
import { type RecordedStep, zoneOfStep } from "../recorder/step-recorder.ts";
import type { EventSource } from "../web/event-streams.ts";
import type { LocalChange, LocalEvent, Prompt } from "../web/local-events.ts";
import { createMrkdwnTree, findDisplayName } from "./display-tree.ts";
import { createMessageView } from "./message-view.ts";
import { createModalView } from "./modal-view.ts";

type FeedOptions = RecordedSlack & { examples?: readonly Prompt[] };

export function createChangeFeed({
  fakeSlack,
  stepRecorder,
  examples = [],
}: FeedOptions): EventSource {
  const stepsSince = fakeSlack.messages().at(-1)?.ts ?? "0";
  return (sendJson) => {
    const send = (event: LocalEvent) => sendJson(event);
    const sendChange = (change: FakeSlackChange) => toLocalChanges(change).forEach(send);
    const changes: FakeSlackChange[] = [
      ...fakeSlack.messages().map((message) => ({ type: "message" as const, message })),
      ...fakeSlack
        .ephemeralMessages()
        .map((message) => ({ type: "ephemeral" as const, ...message })),
      ...fakeSlack.statuses().map((status) => ({ type: "status" as const, ...status })),
      ...fakeSlack.prompts().map((prompts) => ({ type: "prompts" as const, ...prompts })),
      ...fakeSlack.modals().map((modal) => ({ type: "modal" as const, user: modal.user, modal })),
    ];
    send({
      type: "reset",
      ...{ ...listPeopleAndChannels(), examples, stepsSince },
      changes: [...changes.flatMap(toLocalChanges), ...stepRecorder.steps().map(toStepChange)],
    });
    const stops = [
      fakeSlack.onChange(sendChange),
      stepRecorder.onStep((step) => send(toStepChange(step))),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  };
}

/** The people of the first workspace, and the channels that they are in. */
function listPeopleAndChannels() {
  const isOurs = ({ team, sharedWith, withoutBot }: Partial<FakeSlackChannel>) =>
    team === workspace.team && sharedWith === undefined && withoutBot === undefined;
  return {
    people: people.filter(isOurs).map(({ id, name, locale }) => ({ id, name, locale })),
    channels: channels
      .filter(isOurs)
      .map(({ id, name, direct, people: members }) => ({ id, name, direct, people: members })),
  };
}

/** None for what the page does not show. */
function toLocalChanges(change: FakeSlackChange): LocalChange[] {
  switch (change.type) {
    case "message":
      return [{ type: "message", message: createMessageView(change.message) }];
    case "ephemeral": {
      const { type, text, ...message } = change;
      const name = findDisplayName(message.user);
      return [{ type, message: { ...message, name, shown: createMrkdwnTree(text) } }];
    }
    case "modal":
      return [{ ...change, modal: change.modal && createModalView(change.modal) }];
    case "removed":
    case "status":
    case "prompts":
      return [change];
    default:
      return [];
  }
}

function toStepChange({ requestId, kind, detail, ...step }: RecordedStep): LocalChange {
  return { type: "step", requestId, step: { ...step, zone: zoneOfStep[kind], frame: detail } };
}
