/** An agent that calls an endpoint of AG-UI 1.0 (https://docs.ag-ui.com), such as one of LangGraph, CrewAI, Mastra or Pydantic AI. */

import { waitAtMost } from "@sekisho/runtime/async/deadline.ts";
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import { parseEvent } from "./ag-ui/events.ts";
import { readMedia } from "./ag-ui/media.ts";
import { addToMemory, type Memory, readMemory } from "./ag-ui/memory.ts";
import { createOutcome, readAnswerId } from "./ag-ui/outcome.ts";
import {
  addAnswer,
  createContinuation,
  createQuestion,
  isAnswered,
  readQuestionState,
} from "./ag-ui/question.ts";
import { createRunInput } from "./ag-ui/request.ts";
import { createRunReader, type News, type RunReader } from "./ag-ui/run.ts";
import type { Agent, AgentContext, TaskUpdate } from "./agent.ts";
import type { CreateAgent } from "./create-agent.ts";
import { createPartialReporter } from "./partial-reporter.ts";
import {
  createRemoteCall,
  keepForNextTask,
  type RemoteResponse,
  withRemoteFailure,
} from "./remote-call.ts";
import { createEventError, RemoteError } from "./remote-error.ts";
import { createArtifactReports, reportTool } from "./reports.ts";

/** The end of a run is known, but a late error may follow it. A server may also keep the connection open. */
const maxWaitAfterEndMs = 2000;
/** Some servers send each event of their framework beside the ones of the protocol. */
const maxStreamBytes = 512 * 1024 * 1024;

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, ...dependencies }) => {
  if (typeof config === "string" || config.type !== "ag-ui")
    throw new Error(
      'This bundle has the agent "ag-ui", but execution.agent names another one. Bundle again.',
    );
  const { protocolVersion } = config;
  const callRemote = createRemoteCall({ config, dependencies });

  const runTask = async function* (
    ...[task, context]: Parameters<Agent>
  ): AsyncGenerator<TaskUpdate> {
    const answer = task.answers.at(-1);
    const earlierState = readQuestionState(answer?.state);
    if (answer !== undefined && earlierState === undefined)
      throw new RemoteError("the question is one of another agent", { lost: false });
    const state = answer && earlierState && addAnswer({ state: earlierState, answer });
    if (state !== undefined && !isAnswered(state)) {
      yield createQuestion({ state, text: "" });
      return;
    }
    const nowMs = Date.now();
    const continuation = state && createContinuation(state, nowMs);
    const memory = readMemory(await context.conversation.read());
    const input = createRunInput({ task, context, protocolVersion, continuation, memory, nowMs });
    yield* callRemote(
      { body: input, accept: "text/event-stream", maxBytes: maxStreamBytes, context },
      async function* (response) {
        if (!response.isStream) throw createEventError("the response is no text/event-stream");
        const reader = createRunReader(input);
        yield* readRun({ reader, response, context });
        if (reader.isTooLarge()) yield { type: "answer" as const, text: reader.readText() };
        else {
          const { run } = reader;
          const ended = { run, sentMessages: input.messages };
          const outcome = createOutcome({
            ...ended,
            earlierMessages: continuation?.furtherMessages ?? [],
            earlierUsage: state?.usage,
          });
          if (outcome.type === "answer") {
            const id = readAnswerId(ended);
            const questionId = input.messages.findLast(({ role }) => role === "user")?.id;
            const news = { state: readState(run), answer: outcome.text, id, questionId };
            await keepMemory({ memory, newMemory: addToMemory(memory, news), context });
          }
          yield outcome;
        }
      },
    );
  };
  return (task, context) => withRemoteFailure(runTask(task, context), context);
};

/** The state without the messages of the conversation, which some servers list there as well. They are sent with each run. */
function readState({ state, snapshot }: RunReader["run"]): unknown {
  if (snapshot === undefined || !isJsonObject(state)) return state;
  const { messages, ...otherMembers } = state;
  return Array.isArray(messages) ? otherMembers : state;
}

/** An agent that keeps nothing costs no write. */
async function keepMemory(request: {
  memory: Memory;
  newMemory: Memory;
  context: AgentContext;
}): Promise<void> {
  const { memory, newMemory, context } = request;
  const isEmpty = newMemory.state === undefined && newMemory.answers.length === 0;
  if (isEmpty && memory.state === undefined) return;
  await keepForNextTask(newMemory, context);
}

/** Reads to the end of the stream, because an error may follow the end of the run. */
async function* readRun(request: {
  reader: RunReader;
  response: RemoteResponse;
  context: AgentContext;
}): AsyncGenerator<TaskUpdate> {
  const { reader, response, context } = request;
  const { run } = reader;
  // The first text is reported at once.
  const report = createPartialReporter({ now: Date.now, startedAtMs: 0 });
  const toUpdates = createReports(context.log);
  const events = response.events();
  while (!reader.isTooLarge() && run.end === undefined) {
    const next = await events.next();
    if (next.done === true) return;
    const event = parseEvent(next.value.data);
    if (event === undefined) continue;
    const news = reader.add(event);
    yield* toUpdates(news);
    if (news.hasText) yield* report(reader.readText);
  }
  if (run.end !== undefined)
    await waitAtMost({ work: readRest(reader, events), timeoutMs: maxWaitAfterEndMs });
}

/** Some servers end every stream with a mark that is no event, such as [DONE]. */
async function readRest(
  reader: RunReader,
  events: ReturnType<RemoteResponse["events"]>,
): Promise<void> {
  for (;;) {
    const next = await events.next().catch(() => undefined);
    if (next === undefined || next.done === true) return;
    const { data } = next.value;
    const event = data.trimStart().startsWith("{") ? parseEvent(data) : undefined;
    if (event !== undefined) reader.add(event);
  }
}

function createReports(log: AgentContext["log"]): (news: News) => TaskUpdate[] {
  const reportArtifact = createArtifactReports({ log });
  return ({ toolName, steps, parts = [] }) => [
    ...(toolName === undefined ? [] : reportTool(toolName)),
    ...(steps === undefined ? [] : [{ type: "progress" as const, steps }]),
    ...parts.flatMap((part) => {
      const artifact = readMedia(part);
      return artifact === undefined ? [] : reportArtifact(artifact);
    }),
  ];
}
