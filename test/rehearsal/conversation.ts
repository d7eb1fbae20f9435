/** A conversation without a mention: a slash command, a question that a button answers, and a reply in the thread of both. */

import { metadataSchema } from "../../lambdas/verification/slack/api/posts.ts";
import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import { offers } from "./button-clicks.ts";
import type { World } from "./world.ts";

/** `requestIds` are those of the command and of the reply. */
export type Conversation = { requestIds: [string, string]; thread: FakeSlackMessage[] };

/** Resolves to the command's thread when all have had their answer. */
export async function isConversed(world: World): Promise<Conversation> {
  const { fakeSlack, eventsUrl } = world;
  const command = fakeSlack.command({ eventsUrl, text: "ask me, says a command" });
  const question = await world.until("question with buttons", () =>
    fakeSlack.messages().find((post) => isOf(command.requestId, post) && offers("Yes", post)),
  );
  const { channel, ts, threadTs = ts } = question;
  const thread = () => fakeSlack.thread({ channel, ts: threadTs });
  const told = (wanted: RegExp) =>
    world.until(`post like ${wanted} in the thread of a command`, () =>
      thread().find(({ user, text }) => user === workspace.botUser && wanted.test(text)),
    );
  fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Yes" });
  await told(/Shall I go on\? yes/);
  const reply = fakeSlack.reply({ eventsUrl, text: "and what then?", threadTs });
  await told(/and what then\?/);
  return { requestIds: [command.requestId, reply.requestId], thread: thread() };
}

function isOf(requestId: string, { metadata }: FakeSlackMessage): boolean {
  return metadataSchema.parse(metadata)?.event_payload.request_id === requestId;
}
