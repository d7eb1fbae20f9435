/** An agent that calls a managed harness of Amazon Bedrock AgentCore (InvokeHarness). */
import type { AgentContext, AgentTask, TaskUpdate } from "./agent.ts";
import { toConverseMessages } from "./converse-messages.ts";
import type { CreateAgent } from "./create-agent.ts";
import { eventStreamType, readMessages } from "./harness/event-stream.ts";
import { addUsage, createHarnessReader, parseEvent } from "./harness/events.ts";
import {
  createQuestion,
  createResultMessages,
  createState,
  type QuestionState,
  readState,
} from "./harness/question.ts";
import { createModelAnswers, type ModelAnswer } from "./model-answer.ts";
import {
  createRemoteCall,
  keepForNextTask,
  type RemoteResponse,
  sessionHeader,
  withRemoteFailure,
} from "./remote-call.ts";
import { createEventError } from "./remote-error.ts";
import { reportTool } from "./reports.ts";
import { listUnseenMessages, readSeenTs } from "./unseen-messages.ts";

/** The stream has the results of tools, which may be files. */
const maxStreamBytes = 512 * 1024 * 1024;

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, ...dependencies }) => {
  if (typeof config === "string" || config.type !== "harness")
    throw new Error(
      'This bundle has the agent "harness", but execution.agent names another one. Bundle again.',
    );
  const { harnessArn, actor, memory } = config;
  const callRemote = createRemoteCall({ config, dependencies });
  const beginAnswer = createModelAnswers({ now: Date.now });

  async function* run(task: AgentTask, context: AgentContext): AsyncGenerator<TaskUpdate> {
    const state = readState(task.answers.at(-1));
    const nextQuestion = state && createQuestion(state);
    if (nextQuestion !== undefined) {
      yield nextQuestion;
      return;
    }
    const actorId = actor === "none" ? undefined : createActorId(task, context);
    const speaker = [harnessArn, actorId].join(" ");
    const messages = state
      ? createResultMessages(state)
      : toConverseMessages(memory ? await leaveOutSeen({ task, context, speaker }) : task);
    if (messages === undefined) {
      yield { type: "failure", reason: "plan_error" };
      return;
    }
    const request = {
      body: { messages, ...(actorId !== undefined && { actorId }) },
      accept: eventStreamType,
      ...(!memory && { headers: { [sessionHeader]: context.taskId } }),
      ...{ maxBytes: maxStreamBytes, context },
    };
    yield* callRemote(request, async function* (response) {
      const answer = beginAnswer({ task, log: context.log });
      const lastUpdate = yield* readAnswer({ response, answer, earlierUsage: state?.usage });
      // If that fails, the next message brings the thread once more.
      if (memory) await keepForNextTask({ speaker, seenTs: readSeenTs(task) }, context);
      yield lastUpdate;
    });
  }
  return (task, context) => withRemoteFailure(run(task, context), context);
};

/** Returns the last update: the answer or a question. */
async function* readAnswer(request: {
  response: RemoteResponse;
  answer: ModelAnswer;
  earlierUsage: QuestionState["usage"];
}): AsyncGenerator<TaskUpdate, TaskUpdate> {
  const { response, answer, earlierUsage } = request;
  if (response.mediaType !== eventStreamType)
    throw createEventError(`the response is no ${eventStreamType}`);
  const reader = createHarnessReader();
  for await (const message of readMessages(response.chunks)) {
    const event = parseEvent(message);
    if (event === undefined) continue;
    const { text, toolName } = reader.read(event);
    if (toolName !== undefined) yield* reportTool(toolName);
    yield* answer.add(text);
    if (answer.isTooLarge()) return answer.end({ stopReason: "end_turn" });
  }
  const { stopReason, openCalls, usage: ownUsage } = reader.end();
  const usage = ownUsage && addUsage(earlierUsage, ownUsage);
  const question =
    openCalls.length > 0 &&
    createQuestion(createState({ openCalls, usage: usage ?? earlierUsage }), answer.text());
  return question || answer.end({ stopReason, usage });
}

/** Each person of each caller has a memory of their own, so that no caller reaches what the harness remembers of another caller's people. */
function createActorId({ team_id, user_id }: AgentTask, { caller }: AgentContext): string {
  return [caller, user_id && team_id, user_id]
    .flatMap((id) => (id ? [id.replaceAll(/[^\w-]/g, "-")] : []))
    .join(":");
}

/** The task with those messages of the thread that the harness lacks. It keeps the others of a session for each actor, and has none of them if somebody else spoke last. */
async function leaveOutSeen(request: {
  task: AgentTask;
  context: AgentContext;
  speaker: string;
}): Promise<AgentTask> {
  const { task, context, speaker } = request;
  if (task.history === undefined || task.history.length === 0) return task;
  // The host logs a failure. A thread that comes twice is better than no answer.
  const keptValue = await context.conversation.read().catch(() => undefined);
  const { speaker: lastSpeaker, seenTs } = Object(keptValue) as {
    speaker?: unknown;
    seenTs?: unknown;
  };
  if (lastSpeaker !== speaker) return task;
  return { ...task, history: typeof seenTs === "string" ? listUnseenMessages(task, seenTs) : [] };
}
