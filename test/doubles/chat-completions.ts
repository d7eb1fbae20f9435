/** An endpoint of chat completions, as strict as OpenAI's: it refuses what the real one refuses, with its status and its words. */
import type { ServerResponse } from "node:http";
import * as z from "zod";
import { type ModelServer, startModelServer, stream } from "../execution/agents/model-server.ts";

/** What the model says in one round. `breaksOff` ends the stream without an end of the message. */
export type Round = {
  text?: string[];
  calls?: { id: string; name: string; args: string }[];
  breaksOff?: boolean;
};

const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const callSchema = z.strictObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.strictObject({ name: toolName, arguments: z.string() }),
});
const messageSchema = z.discriminatedUnion("role", [
  z.strictObject({ role: z.enum(["system", "developer", "user"]), content: z.string() }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string().nullish(),
    tool_calls: z.array(callSchema).min(1).optional(),
  }),
  z.strictObject({ role: z.literal("tool"), tool_call_id: z.string().min(1), content: z.string() }),
]);
const requestSchema = z.strictObject({
  model: z.string().min(1),
  messages: z.array(messageSchema).min(1),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({
          name: toolName,
          description: z.string().max(1024).optional(),
          parameters: z.looseObject({ type: z.literal("object") }).optional(),
        }),
      }),
    )
    .min(1)
    .optional(),
  tool_choice: z.enum(["auto", "none", "required"]).optional(),
  stream: z.literal(true),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
});
export type CompletionRequest = z.infer<typeof requestSchema>;

/** Each call of the endpoint takes the next round. `accepted` holds the requests that were not refused. */
export async function startChatCompletions(options: {
  apiKey: string;
  rounds: (request: CompletionRequest) => Round | Promise<Round>;
}): Promise<ModelServer & { accepted: CompletionRequest[] }> {
  const acceptedRequests: CompletionRequest[] = [];
  const server = await startModelServer(async (response, { url, method, headers }) => {
    if (method !== "POST" || url !== "/v1/chat/completions")
      return refuse(response, 404, "Invalid URL");
    if (headers.authorization !== `Bearer ${options.apiKey}`)
      return refuse(response, 401, "Incorrect API key provided");
    const parsedConfig = requestSchema.safeParse(server.requests.at(-1)?.body);
    if (!parsedConfig.success) return refuse(response, 400, z.prettifyError(parsedConfig.error));
    const problem = findProblem(parsedConfig.data);
    if (problem !== undefined) return refuse(response, 400, problem);
    acceptedRequests.push(parsedConfig.data);
    sendRound(response, parsedConfig.data, await options.rounds(parsedConfig.data));
  });
  return { ...server, accepted: acceptedRequests };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } }),
  );
}

/** Each call of a tool needs its result before anything else is said, and each result its call. */
function findProblem({
  messages,
  tools,
  tool_choice: choice,
}: CompletionRequest): string | undefined {
  if (choice !== undefined && tools === undefined)
    return "'tool_choice' is only allowed when 'tools' are specified.";
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.includes(message.tool_call_id)) {
        return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      }
      open = open.filter((id) => id !== message.tool_call_id);
      continue;
    }
    if (open.length > 0) return unanswered(open);
    if (message.role !== "assistant") continue;
    if (!message.content && message.tool_calls === undefined)
      return "expected a string, got null: 'content'";
    open = (message.tool_calls ?? []).map(({ id }) => id);
  }
  return open.length > 0 ? unanswered(open) : undefined;
}

function unanswered(ids: string[]): string {
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${ids}`;
}

function sendRound(response: ServerResponse, request: CompletionRequest, round: Round): void {
  const { text = [], calls = [], breaksOff = false } = round;
  if (calls.length > 0 && request.tool_choice === "none")
    throw new Error("A model may not call a tool here.");
  stream(response);
  const send = (json: object) =>
    response.write(`data: ${JSON.stringify({ object: "chat.completion.chunk", ...json })}\n\n`);
  const delta = (delta: object, finishReason: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason: finishReason }], usage: null });
  delta({ role: "assistant", content: text.length > 0 ? "" : null });
  for (const content of text) delta({ content });
  for (const [index, { id, name, args }] of calls.entries()) {
    delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    for (const piece of args.match(/[\s\S]{1,4}/g) ?? []) {
      delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  if (breaksOff) return void response.end();
  delta({}, calls.length > 0 ? "tool_calls" : "stop");
  if (request.stream_options?.include_usage) {
    send({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } });
  }
  response.end("data: [DONE]\n\n");
}
