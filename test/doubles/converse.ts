/** An endpoint of Bedrock's ConverseStream that refuses what the real one refuses, over the event stream of AWS. */
import * as z from "zod";
import {
  type BedrockServer,
  eventStream,
  metadata,
  refuse,
  startBedrockServer,
  stop,
  text,
  toolUse,
} from "../execution/agents/bedrock-server.ts";

/** What the model says in one round. */
export type ConverseRound = {
  texts?: string[];
  calls?: { id: string; name: string; input: string }[];
  /** Default: `tool_use` with calls, else `end_turn`. Null breaks the stream off. */
  stopReason?: string | null;
};

const toolName = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/);
const toolUseId = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const said = z.string().regex(/\S/);
const textBlock = z.strictObject({ text: said });
const callBlock = z.strictObject({
  toolUse: z.strictObject({ toolUseId, name: toolName, input: z.record(z.string(), z.unknown()) }),
});
const resultBlock = z.strictObject({
  toolResult: z.strictObject({
    toolUseId,
    content: z.array(textBlock).min(1),
    status: z.enum(["success", "error"]).optional(),
  }),
});
const blockSchema = z.union([textBlock, callBlock, resultBlock]);
const requestSchema = z.strictObject({
  messages: z
    .array(
      z.strictObject({ role: z.enum(["user", "assistant"]), content: z.array(blockSchema).min(1) }),
    )
    .min(1),
  system: z.array(textBlock).optional(),
  toolConfig: z
    .strictObject({
      tools: z
        .array(
          z.strictObject({
            toolSpec: z.strictObject({
              name: toolName,
              description: said.optional(),
              inputSchema: z.strictObject({ json: z.looseObject({ type: z.literal("object") }) }),
            }),
          }),
        )
        .min(1),
    })
    .optional(),
});
export type ConverseRequest = z.infer<typeof requestSchema>;

/** Each call takes the next round. `accepted` holds the requests that were not refused. */
export async function startConverse(options: {
  modelId: string;
  accessKeyId: string;
  rounds: (request: ConverseRequest) => ConverseRound;
}): Promise<BedrockServer & { accepted: ConverseRequest[] }> {
  const { modelId, accessKeyId, rounds } = options;
  const acceptedRequests: ConverseRequest[] = [];
  const server = await startBedrockServer((response) => {
    const { path, headers, body } = server.requests.at(-1) ?? {
      path: "",
      headers: {},
      body: undefined,
    };
    const isSigned = headers.authorization?.startsWith(
      `AWS4-HMAC-SHA256 Credential=${accessKeyId}/`,
    );
    if (!isSigned) return refuse(response, { status: 403, name: "UnrecognizedClientException" });
    if (path !== `/model/${encodeURIComponent(modelId)}/converse-stream`) {
      return refuse(response, { status: 404, name: "ResourceNotFoundException" });
    }
    const { data } = requestSchema.safeParse(body);
    if (data === undefined || !isConversation(data)) {
      return refuse(response, { status: 400, name: "ValidationException" });
    }
    acceptedRequests.push(data);
    const {
      texts = [],
      calls = [],
      stopReason = calls.length > 0 ? "tool_use" : "end_turn",
    } = rounds(data);
    const usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12 };
    eventStream(response).end(
      Buffer.concat([
        ...texts.map(text),
        ...calls.map((call, index) => toolUse({ index: index + 1, ...call })),
        ...(stopReason === null ? [] : [stop(stopReason), metadata(usage)]),
      ]),
    );
  });
  return { ...server, accepted: acceptedRequests };
}

/** The user begins, the two take turns, and the turn after a call of tools holds exactly one result of each. */
function isConversation({ messages, toolConfig }: ConverseRequest): boolean {
  let open: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== (index % 2 === 0 ? "user" : "assistant")) return false;
    const results = content.flatMap((block) =>
      "toolResult" in block ? [block.toolResult.toolUseId] : [],
    );
    if ([...results].sort().join() !== [...open].sort().join()) return false;
    open = content.flatMap((block) => ("toolUse" in block ? [block.toolUse.toolUseId] : []));
    if (open.length > 0 && (role === "user" || toolConfig === undefined)) return false;
  }
  return open.length === 0 && messages.at(-1)?.role === "user";
}
