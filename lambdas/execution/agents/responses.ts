/** An agent that calls an endpoint of the Responses API (https://platform.openai.com/docs/api-reference/responses), with a model or an agent behind it. */
import { setTimeout as wait } from "node:timers/promises";
import type { Agent, AgentContext, AgentTask, TaskUpdate } from "./agent.ts";
import type { AgentDependencies, CreateAgent } from "./create-agent.ts";
import { createModelAnswers, type ModelAnswer } from "./model-answer.ts";
import { keepForNextTask, type RemoteResponse, withRemoteFailure } from "./remote-call.ts";
import { RemoteError } from "./remote-error.ts";
import { createArtifactReports, reportTool } from "./reports.ts";
import { createResponsesApi, type ResponsesApi, type ResponsesConfig } from "./responses/api.ts";
import { createDecisions, readApprovalState } from "./responses/approvals.ts";
import { createOutcome, listContainerFiles } from "./responses/outcome.ts";
import {
  createBroken,
  createResponseReader,
  isText,
  type ResponseReader,
} from "./responses/reader.ts";
import { createBody, createUserMessage, listThread, readFiles } from "./responses/request.ts";
import { readSeenTs } from "./unseen-messages.ts";

const defaultIdleTimeoutMs = 120_000;
/** For all files of an answer together. The answer waits for them. */
const maxFilesMs = 30_000;
/** The statuses of an endpoint that does not know the response before, or cannot read a file. It has done nothing then. */
const refusalStatuses: readonly unknown[] = [400, 404, 413, 415, 422];

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, ...dependencies }) => {
  if (typeof config === "string" || config.type !== "responses")
    throw new Error(
      'This bundle has the agent "responses", but execution.agent names another one. Bundle again.',
    );
  return createResponsesAgent({ config, dependencies });
};

/** The values that the parts of one run share. */
type Run = {
  api: ResponsesApi;
  config: ResponsesConfig;
  reader: ResponseReader;
  context: AgentContext;
};

/** With `background`, the response goes on without a connection, so that one that breaks loses nothing: the response is read again. */
export function createResponsesAgent(options: {
  config: ResponsesConfig;
  dependencies: Omit<AgentDependencies, "config">;
  pollIntervalMs?: number;
  filesTimeoutMs?: number;
}): Agent {
  const { config, pollIntervalMs = 2000, filesTimeoutMs = maxFilesMs } = options;
  const api = createResponsesApi(options);
  const beginAnswer = createModelAnswers({ now: Date.now });

  async function* runTask(task: AgentTask, context: AgentContext): AsyncGenerator<TaskUpdate> {
    const begin = () => beginAnswer({ task, log: context.log });
    const reader = createResponseReader();
    const run: Run = { api, config, reader, context };
    const answer = begin();
    try {
      yield* create({ run, answer, bodies: await listBodies(run, task) });
      if (answer.isTooLarge()) {
        yield answer.end({ stopReason: "stop" });
        return;
      }
      if (config.background) yield* poll(run, pollIntervalMs);
      if (reader.end() === undefined) throw createBroken("the stream ends before the response");
      const reportArtifact = createArtifactReports(context);
      const canGoOn = config.store !== false;
      const updates = createOutcome({ reader, task, canGoOn, begin, reportArtifact });
      if (updates.at(-1)?.type === "answer") {
        const conversation = { responseId: reader.id(), seenTs: readSeenTs(task) };
        if (config.store) await keepForNextTask(conversation, context);
        const filesSignal = AbortSignal.any([context.signal, AbortSignal.timeout(filesTimeoutMs)]);
        const filesRun = { ...run, context: { ...context, signal: filesSignal } };
        yield* reportFiles(filesRun, reportArtifact);
      }
      yield* updates;
    } finally {
      const id = reader.id();
      if (config.background && id !== undefined && reader.end() === undefined)
        await api.cancel(id, context);
    }
  }
  return (task, context) => withRemoteFailure(runTask(task, context), context);
}

/** Sends the next body if the endpoint refuses one. */
async function* create(request: {
  run: Run;
  bodies: readonly Record<string, unknown>[];
  answer: ModelAnswer;
}): AsyncGenerator<TaskUpdate> {
  const { run, bodies, answer } = request;
  const { api, config, reader, context } = run;
  for (const [index, body] of bodies.entries()) {
    try {
      yield* api.create(body, context, (response) => readResponse({ response, reader, answer }));
      return;
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      if (config.background && error.lost && reader.id() !== undefined) return;
      const isRefused = refusalStatuses.includes(error.status);
      if (!isRefused || index + 1 === bodies.length) throw error;
      if ("previous_response_id" in body) context.log.warn("remote_conversation_gone");
    }
  }
}

async function* readResponse(request: {
  response: RemoteResponse;
  reader: ResponseReader;
  answer?: ModelAnswer;
}): AsyncGenerator<TaskUpdate> {
  const { response, reader, answer } = request;
  if (!response.isStream) {
    reader.addResponse(await response.text());
    return;
  }
  for await (const event of response.events()) {
    const { text = "", toolName = "" } = reader.addEvent(event);
    yield* reportTool(toolName);
    yield* answer?.add(text) ?? [];
    // The rest of the stream is not needed.
    if (reader.end() !== undefined || answer?.isTooLarge()) return;
  }
}

/** A read that fails is repeated, because it does nothing, until the endpoint has been silent for too long. */
async function* poll(
  { api, config, reader, context }: Run,
  intervalMs: number,
): AsyncGenerator<TaskUpdate> {
  const { idleTimeoutMs = defaultIdleTimeoutMs } = config;
  const id = reader.id();
  let heardAtMs = Date.now();
  while (id !== undefined && reader.end() === undefined) {
    await wait(intervalMs, undefined, { signal: context.signal });
    try {
      yield* api.read(id, context, (response) => readResponse({ response, reader }));
      heardAtMs = Date.now();
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const { kind, status } = error;
      if (Date.now() - heardAtMs > idleTimeoutMs)
        throw new RemoteError(kind, { lost: true, status });
    }
  }
}

/** An answer is worth more than the files that it names, so it does not wait longer for them than the context's signal. */
async function* reportFiles(
  { api, reader, context }: Run,
  reportArtifact: ReturnType<typeof createArtifactReports>,
): AsyncGenerator<TaskUpdate> {
  for (const { path, name } of listContainerFiles(reader.items())) {
    try {
      yield* api.readFile(path, context, async function* ({ mediaType: mimetype, bytes }) {
        const base64 = (await bytes()).toString("base64");
        yield* reportArtifact({ name, mimetype, base64 });
      });
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      context.log.warn("agent_artifact_left_out", { cause_kind: error.kind });
    }
  }
}

/** The body of the request, and those to send instead if the endpoint refuses it. */
async function listBodies(
  { config, context }: Run,
  task: AgentTask,
): Promise<Record<string, unknown>[]> {
  const reply = task.answers.at(-1);
  if (reply !== undefined) {
    const state = readApprovalState(reply.state);
    if (state === undefined)
      throw new RemoteError("the question is one of another agent", { lost: false });
    const input = createDecisions(state, reply);
    return [createBody({ options: config, input, previousId: state.responseId })];
  }
  const keptValue = config.store ? await context.conversation.read() : undefined;
  const { responseId, seenTs } = Object(keptValue) as { responseId?: unknown; seenTs?: unknown };
  const previousId = isText(responseId) ? responseId : undefined;
  const files = await readFiles(task, context);
  const toBody = (isContinued: boolean, namesFiles: boolean) =>
    createBody({
      options: config,
      input: [
        ...listThread(task, { isContinued, seenTs }),
        createUserMessage({ task, files, namesFiles }),
      ],
      previousId: isContinued ? previousId : undefined,
    });
  return [
    ...(previousId === undefined ? [] : [toBody(true, false)]),
    toBody(false, false),
    ...(files.some(({ content }) => content !== undefined) ? [toBody(false, true)] : []),
  ];
}
