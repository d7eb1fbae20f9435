/** Keeps what the next request of a conversation needs, such as the id that the other side gave it. */
import type { AgentContext, TaskUpdate } from "./agent.ts";
import { isEmpty, readMember, readPath } from "./http-answer.ts";
import { keepForNextTask, RemoteError } from "./remote-call.ts";

/** Gets each JSON of a response: the body, or the events of a stream. */
export type OnJson = (json: unknown) => void;

/** Posts the message with what was kept, which is an empty text at first. */
export type PostKept = (kept: unknown, onJson: OnJson) => AsyncGenerator<TaskUpdate>;

/**
 * `path` is where a response has the value to keep. If the other side no longer knows the conversation (404), it has taken nothing, and
 * gets the message again as the first one of another conversation. The answer to a question (not `isFirst`) would make no sense there.
 */
export async function* continueConversation(options: {
  post: PostKept;
  path: string;
  context: AgentContext;
  isFirst: boolean;
}): AsyncGenerator<TaskUpdate> {
  const { post, path, context, isFirst } = options;
  const keptValue = readMember(await context.conversation.read(), "conversation");
  let newValue: unknown;
  const onJson: OnJson = (json) => {
    const value = readPath(json, path);
    if (!isEmpty(value)) newValue = value;
  };
  const keep = async () => {
    if (newValue !== undefined) await keepForNextTask({ conversation: newValue }, context);
  };
  try {
    yield* withKeeping(post(keptValue ?? "", onJson), keep);
  } catch (error) {
    const isGone = error instanceof RemoteError && error.status === 404;
    if (!isGone || !isFirst || keptValue === undefined) throw error;
    context.log.warn("remote_conversation_gone");
    yield* withKeeping(post("", onJson), keep);
  }
}

/** Calls `keep` before the last update, because the process may stop after it, and before an error. */
async function* withKeeping(
  updates: AsyncGenerator<TaskUpdate>,
  keep: () => Promise<void>,
): AsyncGenerator<TaskUpdate> {
  try {
    for await (const update of updates) {
      if (update.type !== "progress") await keep();
      yield update;
    }
  } catch (error) {
    await keep();
    throw error;
  }
}
