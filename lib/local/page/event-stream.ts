/** What the page shows, as a stream of server-sent events: all that there is, then each change. */
import type { ServerResponse } from "node:http";
import { sanitizeJsonValue } from "../../../lambdas/shared/untrusted-input.ts";
import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import type { FakeSlackChange } from "../fake-slack/state.ts";
import { channels, people, workspace } from "../fake-slack/workspace.ts";
import type { RecordedStep, StepRecorder } from "../recorder/step-recorder.ts";
import { createMessageView, findDisplayName } from "./message-view.ts";
import { createMrkdwnTree } from "./mrkdwn-tree.ts";

/** `streams` are the open ones; ending them lets a server close. */
export type EventStream = { open(response: ServerResponse, until: { ended: AbortSignal }): void; close(): void };

export function createEventStream({
  fakeSlack,
  stepRecorder,
}: {
  fakeSlack: FakeSlack;
  stepRecorder: StepRecorder;
}): EventStream {
  const streams = new Set<ServerResponse>();
  const unsubscribe = [
    fakeSlack.onChange((change) => broadcast(fromChange(change))),
    stepRecorder.onStep((step) => broadcast(fromStep(step))),
  ];

  function broadcast(data: object): void {
    for (const stream of streams) stream.write(format(data));
  }

  function* all(): Generator<object> {
    yield { type: "reset", ...whoAndWhere() };
    for (const message of fakeSlack.messages()) yield fromChange({ type: "message", message });
    for (const message of fakeSlack.ephemeralMessages()) yield fromChange({ type: "ephemeral", ...message });
    for (const status of fakeSlack.statuses()) yield fromChange({ type: "status", ...status });
    for (const prompts of fakeSlack.prompts()) yield fromChange({ type: "prompts", ...prompts });
    for (const step of stepRecorder.steps()) yield fromStep(step);
  }

  return {
    open(response, { ended }) {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      for (const data of all()) response.write(format(data));
      streams.add(response);
      const finish = () => void response.end();
      ended.addEventListener("abort", finish);
      response.on("close", () => {
        ended.removeEventListener("abort", finish);
        streams.delete(response);
      });
    },
    close() {
      for (const stop of unsubscribe) stop();
      for (const stream of streams) stream.end();
    },
  };
}

/** The people of the first workspace, and the channels that they are in. */
function whoAndWhere() {
  const ofTeam = ({ team, sharedWith }: { team: string; sharedWith?: string }) =>
    team === workspace.team && sharedWith === undefined;
  return {
    people: people.filter(ofTeam).map(({ id, name, locale }) => ({ id, name, locale })),
    channels: channels.filter(ofTeam).map(({ id, name, direct, people: who }) => ({ id, name, direct, people: who })),
  };
}

function fromChange(change: FakeSlackChange): object {
  if (change.type === "message") return { type: "message", message: createMessageView(change.message) };
  if (change.type !== "ephemeral") return change;
  const { text, user, ...place } = change;
  return { ...place, user, name: findDisplayName(user), shown: createMrkdwnTree(text, findDisplayName) };
}

function fromStep(step: RecordedStep): object {
  return { type: "step", step };
}

/** JSON has no line ends of its own, so one `data` line holds it. */
function format(data: object): string {
  return `data: ${JSON.stringify(data, sanitizeJsonValue)}\n\n`;
}
