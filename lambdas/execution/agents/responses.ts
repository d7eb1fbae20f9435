/** An agent that calls an endpoint of the Responses API (https://platform.openai.com/docs/api-reference/responses), with a model or an agent behind it. */
import { setTimeout as wait } from "node:timers/promises";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Agent, AgentContext, AgentTask, TaskUpdate } from "./agent.ts";
import type { AgentDependencies, CreateAgent } from "./create-agent.ts";
import { createModelAnswers, type ModelAnswer } from "./model-answer.ts";
import {
  createRemoteCall,
  RemoteError,
  type RemoteResponse,
  withRemoteFailure,
} from "./remote-call.ts";
import { createArtifactReports, reportTool } from "./reports.ts";
import { createDecisions, readApprovalState } from "./responses/approvals.ts";
import { createOutcome } from "./responses/outcome.ts";
import {
  createBroken,
  createResponseReader,
  isText,
  type ResponseReader,
} from "./responses/reader.ts";
import { createBody, createUserMessage, listThread, readFiles } from "./responses/request.ts";

type ResponsesConfig = Extract<AgentConfig, { type: "responses" }>;

const accept = "text/event-stream, application/json";
const defaultIdleTimeoutMs = 120_000;
const maxCancelMs = 5000;
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

/** With `background`, the response goes on without a connection, so that one that breaks loses nothing: the response is read again. */
export function createResponsesAgent(options: {
  config: ResponsesConfig;
  dependencies: Omit<AgentDependencies, "config">;
  pollIntervalMs?: number;
}): Agent {
  const { config, dependencies, pollIntervalMs = 2000 } = options;
  const { background, headers, idleTimeoutMs = defaultIdleTimeoutMs } = config;
  const url = resolveUrl(config.baseUrl);
  const callRemote = createRemoteCall({ config: { ...config, url: url.href }, dependencies });
  const beginAnswer = createModelAnswers({ now: Date.now });

  async function* run(task: AgentTask, context: AgentContext): AsyncGenerator<TaskUpdate> {
    const begin = () => beginAnswer({ task, log: context.log });
    const reader = createResponseReader();
    const answer = begin();
    try {
      yield* create({ bodies: await listBodies(config, task, context), reader, answer, context });
      if (answer.isTooLarge()) {
        yield answer.end({ stopReason: "stop" });
        return;
      }
      if (background && reader.id() !== undefined) yield* poll(reader, context);
      if (reader.end() === undefined) throw createBroken("the stream ends before the response");
      const reportArtifact = createArtifactReports(context);
      const updates = createOutcome({ reader, task, begin, reportArtifact });
      if (config.store && updates.at(-1)?.type === "answer") await keep(reader.id(), context);
      yield* updates;
    } finally {
      if (background && reader.end() === undefined) await cancel(reader.id(), context);
    }
  }

  /** Sends the next body if the endpoint refuses one. */
  async function* create(request: {
    bodies: readonly unknown[];
    reader: ResponseReader;
    answer: ModelAnswer;
    context: AgentContext;
  }): AsyncGenerator<TaskUpdate> {
    const { bodies, reader, answer, context } = request;
    for (const [index, body] of bodies.entries()) {
      try {
        yield* callRemote({ body, accept, headers, context }, (response) =>
          readResponse({ response, reader, answer }),
        );
        return;
      } catch (error) {
        if (!(error instanceof RemoteError)) throw error;
        const isRefused = refusalStatuses.includes(error.status) && index + 1 < bodies.length;
        const canReadAgain = background && error.lost && reader.id() !== undefined;
        if (canReadAgain) return;
        if (!isRefused) throw error;
      }
    }
  }

  /** A read that fails is repeated, because it does nothing, until the endpoint has been silent for too long. */
  async function* poll(reader: ResponseReader, context: AgentContext): AsyncGenerator<TaskUpdate> {
    const address = addPath(url, reader.id() ?? "");
    let heardAtMs = Date.now();
    while (reader.end() === undefined) {
      await wait(pollIntervalMs, undefined, { signal: context.signal });
      try {
        yield* callRemote(
          { method: "GET", url: address, accept: "application/json", headers, context },
          (response) => readResponse({ response, reader }),
        );
        heardAtMs = Date.now();
      } catch (error) {
        if (!(error instanceof RemoteError)) throw error;
        const { kind, status } = error;
        if (Date.now() - heardAtMs > idleTimeoutMs)
          throw new RemoteError(kind, { lost: true, status });
      }
    }
  }

  /** Nobody waits for whether it helped: the endpoint may have ended the work already. */
  async function cancel(id: string | undefined, context: AgentContext): Promise<void> {
    if (id === undefined) return;
    const call = callRemote(
      {
        ...{ url: addPath(addPath(url, id), "cancel"), accept: "application/json", headers },
        context: { ...context, signal: AbortSignal.timeout(maxCancelMs) },
      },
      async function* () {},
    );
    await call.next().catch(() => {});
  }

  return (task, context) => withRemoteFailure(run(task, context), context);
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

/** The body of the request, and those to send instead if the endpoint refuses it. */
async function listBodies(
  ...[config, task, context]: [ResponsesConfig, AgentTask, AgentContext]
): Promise<unknown[]> {
  const reply = task.answers.at(-1);
  if (reply !== undefined) {
    const state = readApprovalState(reply.state);
    if (state === undefined)
      throw new RemoteError("the question is one of another agent", { lost: false });
    const input = createDecisions(state, reply);
    return [createBody({ options: config, input, previousId: state.responseId })];
  }
  const previousId = config.store ? await readKept(context) : undefined;
  const files = await readFiles(task, context);
  const create = (isContinued: boolean, namesFiles: boolean) =>
    createBody({
      options: config,
      input: [...listThread(task, isContinued), createUserMessage({ task, files, namesFiles })],
      previousId: isContinued ? previousId : undefined,
    });
  return [
    ...(previousId === undefined ? [] : [create(true, false)]),
    create(false, false),
    ...(files.some(({ content }) => content !== undefined) ? [create(false, true)] : []),
  ];
}

/** Undefined also if the store fails, because the thread says the same. */
async function readKept({ conversation, log }: AgentContext): Promise<string | undefined> {
  try {
    const { responseId } = Object(await conversation.read()) as { responseId?: unknown };
    return isText(responseId) ? responseId : undefined;
  } catch (error) {
    log.warn("conversation_unavailable", { cause_kind: errorKind(error) });
    return undefined;
  }
}

/** An answer is worth more than the place in the conversation. */
async function keep(
  responseId: string | undefined,
  { conversation, log }: AgentContext,
): Promise<void> {
  try {
    await conversation.write(responseId === undefined ? undefined : { responseId });
  } catch (error) {
    log.warn("conversation_unavailable", { cause_kind: errorKind(error) });
  }
}

/** The query of the configured URL, such as a version, belongs to every call. */
function resolveUrl(baseUrl: string): URL {
  return addPath(new URL(baseUrl), "responses");
}

function addPath(url: URL, segment: string): URL {
  const extendedUrl = new URL(url);
  extendedUrl.pathname = `${url.pathname.replace(/\/+$/, "")}/${encodeURIComponent(segment)}`;
  return extendedUrl;
}
