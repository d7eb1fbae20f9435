/** What a story looks for in a thread: buttons, streams, files, and the words of the bot. */
import { listButtons } from "../../lib/local/fake-slack/blocks.ts";
import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import type { PostedByFakePerson } from "../../lib/local/fake-slack/persons.ts";
import { until } from "./until.ts";
import type { E2eWorld } from "./world.ts";

export function labelsOf({ blocks = [] }: FakeSlackMessage): string[] {
  return listButtons(blocks).map(({ button }) => button.text.text);
}

/** Resolves to the first message of the bot in the thread that is as wished. */
export function inThread(
  { answersTo }: E2eWorld,
  { message }: Pick<PostedByFakePerson, "message">,
  isWished: (message: FakeSlackMessage) => boolean,
): Promise<FakeSlackMessage> {
  const seen = () => answersTo(message).map(({ text, reactions, stream }) => ({ text, reactions, stream }));
  return until(() => answersTo(message).find(isWished), { seen: () => JSON.stringify(seen()) });
}

/** The message with a button of that label. */
export function withButton(
  world: E2eWorld,
  asked: Pick<PostedByFakePerson, "message">,
  label: string,
): Promise<FakeSlackMessage> {
  return inThread(world, asked, (message) => labelsOf(message).includes(label));
}

export function textsOf(messages: readonly FakeSlackMessage[]): string {
  return messages.map(({ text }) => text).join("\n");
}
