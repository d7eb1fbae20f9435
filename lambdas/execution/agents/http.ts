/** An agent that posts JSON to an endpoint of another kind, and reads the text of the answer from its response. */
import { fillTemplate, type PlaceholderValues, toText } from "@sekisho/config/request-template.ts";
import type { AgentContext, AgentTask, TaskUpdate } from "./agent.ts";
import type { CreateAgent } from "./create-agent.ts";
import { createUnreadable, readJsonAnswer, readQuestion, refuseError } from "./http-answer.ts";
import { continueConversation, type OnJson, type PostKept } from "./http-conversation.ts";
import { createFrameReader } from "./http-frames.ts";
import { createModelAnswers, type ModelAnswer } from "./model-answer.ts";
import { createRemoteCall, type RemoteResponse, withRemoteFailure } from "./remote-call.ts";
import { RemoteError } from "./remote-error.ts";

/** The TypeScript SDK of AgentCore refuses a request that does not accept both. */
const accept = "application/json, text/event-stream";

/** The paths to the answer of a response, and to the question instead. */
type Paths = { answer?: string | undefined; question?: string | undefined };

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = ({ config, ...dependencies }) => {
  if (typeof config === "string" || config.type !== "http")
    throw new Error(
      'This bundle has the agent "http", but execution.agent names another one. Bundle again.',
    );
  const { request, resume, answer, question, conversation: path } = config;
  const callRemote = createRemoteCall({ config, dependencies });
  const beginAnswer = createModelAnswers({ now: Date.now, isFirstTextUrgent: true });

  /** `kept` is what the conversation's earlier responses had. */
  async function* post(
    { task, context, kept }: { task: AgentTask; context: AgentContext; kept: unknown },
    onJson: OnJson,
  ): AsyncGenerator<TaskUpdate> {
    const template = task.answers.length === 0 ? request : resume;
    if (template === undefined) throw createUnreadable("execution.agent.resume is not set");
    const body = fillTemplate(template, { ...readValues(task, context), conversation: kept });
    yield* callRemote({ body, accept, context, conversation: toText(kept) }, (response) => {
      const begin = () => beginAnswer({ task, log: context.log });
      return response.isStream
        ? readStream({ response, begin, paths: { answer, question }, onJson })
        : readBody({ response, begin, paths: { answer, question }, onJson });
    });
  }

  return (task, context) => {
    const postKept: PostKept = (kept, onJson) => post({ task, context, kept }, onJson);
    const updates =
      path === undefined
        ? postKept("", () => {})
        : continueConversation({
            post: postKept,
            path,
            context,
            isFirst: task.answers.length === 0,
          });
    return withRemoteFailure(updates, context);
  };
};

function readValues(task: AgentTask, { contextId, taskId }: AgentContext): PlaceholderValues {
  const { text, parts, attachments = [], answers } = task;
  const history = (task.history ?? []).map(({ role, text: content }) => ({ role, content }));
  const latest = answers.at(-1);
  return {
    text,
    history,
    messages: [...history, { role: "user", content: text }],
    session: contextId ?? taskId,
    user: task.user_id,
    channel: task.channel,
    team: task.team_id,
    task_id: taskId,
    files: attachments.map(({ name, mimetype, size, url }) => ({ name, mimetype, size, url })),
    data: parts.flatMap(({ data }) => (data === undefined ? [] : [data])),
    reply: latest?.option_id ?? latest?.text,
  };
}

async function* readStream(request: {
  response: RemoteResponse;
  begin: () => ModelAnswer;
  paths: Paths;
  onJson: OnJson;
}): AsyncGenerator<TaskUpdate> {
  const { response, begin, paths, onJson } = request;
  const questions: TaskUpdate[] = [];
  const reader = createFrameReader({
    path: paths.answer,
    onJson(json) {
      onJson(json);
      const question = paths.question && readQuestion(json, paths.question);
      if (question) questions.push(question);
    },
  });
  let answer = begin();
  for await (const frame of response.events()) {
    const { text, isFirst, isLast } = reader.read(frame);
    if (isFirst) answer = begin();
    yield* answer.add(text);
    if (answer.isTooLarge()) {
      yield answer.end({ stopReason: "end_turn" });
      return;
    }
    if (isLast) break;
  }
  // Nothing says that the agent has stored its work before the end of its stream.
  const [question] = questions;
  if (question !== undefined) {
    yield question;
    return;
  }
  const { text, stopReason } = reader.end();
  answer.add(text);
  yield answer.end({ stopReason });
}

async function* readBody(request: {
  response: RemoteResponse;
  begin: () => ModelAnswer;
  paths: Paths;
  onJson: OnJson;
}): AsyncGenerator<TaskUpdate> {
  const { response, begin, paths, onJson } = request;
  const text = await response.text();
  const json = readJson({ text, mediaType: response.mediaType });
  if (json !== undefined) {
    onJson(json);
    refuseError(json);
    const question = paths.question && readQuestion(json, paths.question);
    if (question) {
      yield question;
      return;
    }
  }
  const answer = begin();
  answer.add(json === undefined ? text : readJsonAnswer(json, paths.answer));
  yield answer.end({ stopReason: "end_turn" });
}

/** Undefined for plain text, which is the answer. Some servers say `text/html` or nothing for any text. */
function readJson({ text, mediaType }: { text: string; mediaType: string }): unknown {
  const isPage = /^\s*<(?:!doctype|html)\b/i.test(text);
  if (isPage || (mediaType === "text/html" && /^\s*<!--/.test(text)))
    throw createUnreadable("the response is an HTML page; the address is not that of the agent");
  try {
    return JSON.parse(text);
  } catch {
    // It may be cut.
    if (/[/+]json$/.test(mediaType))
      throw new RemoteError("the response is not JSON", { lost: true });
    return undefined;
  }
}
