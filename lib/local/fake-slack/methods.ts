/** The Web API methods that the fake Slack knows (https://docs.slack.dev/reference/methods), as strict as Slack where it matters. */

import { chatMethods } from "./chat-methods.ts";
import { conversationMethods } from "./conversation-methods.ts";
import { fileMethods } from "./file-methods.ts";
import { assistantMethods, reactionMethods } from "./indicator-methods.ts";
import type { FakeSlackMessages } from "./messages.ts";
import { peopleMethods } from "./people-methods.ts";
import type { FakeSlackMethod } from "./reply.ts";
import { createState, type FakeSlackState } from "./state.ts";
import { streamMethods } from "./stream-methods.ts";

/** By messages alone it is one workspace whose pages hold `pageSize`. */
export function createMethods(
  given: FakeSlackState | { messages: FakeSlackMessages; pageSize: number },
): ReadonlyMap<string, FakeSlackMethod> {
  const state =
    "rules" in given
      ? given
      : createState({ messages: given.messages, botToken: "", rules: { pageSize: given.pageSize } });
  return new Map(
    Object.entries({
      ...chatMethods(state),
      ...streamMethods(state),
      ...reactionMethods(state),
      ...conversationMethods(state),
      ...peopleMethods(state),
      ...fileMethods(state),
      ...assistantMethods(state),
    }),
  );
}
