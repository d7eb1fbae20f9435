/** The events that the page in the browser gets: the whole state, then each change. */
import type { FakeSlackChange } from "../fake-slack/state.ts";
import { channels, people, workspace } from "../fake-slack/workspace.ts";
import type { RecordedSlack } from "../recorder/slack-steps.ts";
import { type RecordedStep, zoneOfStep } from "../recorder/step-recorder.ts";
import type { EventSource } from "../web/event-streams.ts";
import { createMrkdwnTree } from "./display-tree.ts";
import { createMessageView, findDisplayName } from "./message-view.ts";
import { createModalView } from "./modal-view.ts";

export function createChangeFeed({ fakeSlack, stepRecorder }: RecordedSlack): EventSource {
  return (send) => {
    const sendChange = (change: FakeSlackChange) => send(toPageChange(change));
    const sendStep = (step: RecordedStep) => send(toPageStep(step));
    send({ type: "reset", ...peopleAndChannels() });
    for (const message of fakeSlack.messages()) sendChange({ type: "message", message });
    for (const message of fakeSlack.ephemeralMessages())
      sendChange({ type: "ephemeral", ...message });
    for (const status of fakeSlack.statuses()) sendChange({ type: "status", ...status });
    for (const prompts of fakeSlack.prompts()) sendChange({ type: "prompts", ...prompts });
    for (const modal of fakeSlack.modals()) sendChange({ type: "modal", user: modal.user, modal });
    stepRecorder.steps().forEach(sendStep);
    const stops = [fakeSlack.onChange(sendChange), stepRecorder.onStep(sendStep)];
    return () => {
      for (const stop of stops) stop();
    };
  };
}

/** The people of the first workspace, and the channels that they are in. */
function peopleAndChannels() {
  const isInTeam = ({
    team,
    sharedWith,
    withoutBot,
  }: {
    team: string;
    sharedWith?: string;
    withoutBot?: true;
  }) => team === workspace.team && sharedWith === undefined && withoutBot === undefined;
  return {
    people: people.filter(isInTeam).map(({ id, name, locale }) => ({ id, name, locale })),
    channels: channels
      .filter(isInTeam)
      .map(({ id, name, direct, people: who }) => ({ id, name, direct, people: who })),
  };
}

function toPageChange(change: FakeSlackChange): object {
  if (change.type === "message")
    return { type: "message", message: createMessageView(change.message) };
  if (change.type === "modal")
    return { ...change, modal: change.modal && createModalView(change.modal) };
  if (change.type !== "ephemeral") return change;
  const { text, user, ...fields } = change;
  return {
    ...fields,
    user,
    name: findDisplayName(user),
    shown: createMrkdwnTree(text, findDisplayName),
  };
}

/** As a step of the timeline that all pages draw. */
function toPageStep({ kind, detail, ...step }: RecordedStep): object {
  return { type: "step", step: { ...step, zone: zoneOfStep[kind], frame: detail } };
}
