/** Endpoints of one's own with Vercel's AI SDK: an answer in JSON that may be a question, a stream of text, and a stream of UI messages. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import {
  generateText,
  type ModelMessage,
  pipeTextStreamToResponse,
  pipeUIMessageStreamToResponse,
  stepCountIs,
  streamText,
  tool,
  toUIMessageStream,
} from "ai";
import * as z from "zod";
import { createLanguageModel } from "./language-model.ts";
import { listen } from "./listen.ts";
import { tell } from "./parent.ts";
import { toolResults } from "./script.ts";

/** `reply` is the answer to a question. */
type Body = { session: string; messages?: ModelMessage[]; reply?: string };

const inputSchema = z.object({ about: z.string() });
const settings = {
  model: createLanguageModel(),
  tools: {
    look_up: tool({ inputSchema, execute: () => toolResults.look_up }),
    delete_file: tool({ inputSchema, execute: () => toolResults.delete_file }),
  },
  stopWhen: stepCountIs(5),
};

function abortWith(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.on("close", () => controller.abort());
  return controller.signal;
}

/** By session, the conversation that waits for an approval, and the id of the approval. */
const pauses = new Map<string, { messages: ModelMessage[]; approvalId: string }>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { session, reply, ...body } = (await json(request)) as Body;
  const pause = pauses.get(session);
  pauses.delete(session);
  const messages = body.messages ?? pause?.messages ?? [];
  if (reply !== undefined && pause !== undefined) {
    const { approvalId } = pause;
    const approval = { type: "tool-approval-response" as const, approvalId };
    messages.push({ role: "tool", content: [{ ...approval, approved: reply === "approve" }] });
  }
  const result = await generateText({
    ...{ ...settings, messages, toolApproval: { delete_file: "user-approval" as const } },
    abortSignal: abortWith(response),
  });
  const question = result.content.find(({ type }) => type === "tool-approval-request");
  response.setHeader("content-type", "application/json");
  if (question?.type !== "tool-approval-request") {
    response.end(JSON.stringify({ text: result.text }));
    return;
  }
  const { approvalId } = question;
  pauses.set(session, { messages: [...messages, ...result.responseMessages], approvalId });
  const prompt = `May I call ${question.toolCall.toolName}?`;
  response.end(JSON.stringify({ question: { prompt, options: ["approve", "deny"] } }));
}

async function stream(request: IncomingMessage, response: ServerResponse) {
  const { messages = [] } = (await json(request)) as Body;
  return streamText({ ...settings, messages, abortSignal: abortWith(response) });
}

const url = await listen({
  "/answer": answer,
  async "/text"(request, response) {
    const { textStream } = await stream(request, response);
    await pipeTextStreamToResponse({ response, stream: textStream });
  },
  async "/ui"(request, response) {
    const { stream: parts } = await stream(request, response);
    await pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream({ stream: parts }) });
  },
});
tell({ event: "ready", urls: { answer: `${url}/answer`, text: `${url}/text`, ui: `${url}/ui` } });
