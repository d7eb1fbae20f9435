/** An agent that asks a model of Amazon Bedrock by ConverseStream, and lets it use a tool. */
import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseStreamCommand,
  type ConverseStreamOutput,
  type Message,
  type TokenUsage,
  type ToolConfiguration,
  type ToolResultBlock,
  type ToolUseBlock,
  type ToolUseBlockStart,
} from "@aws-sdk/client-bedrock-runtime";
import type { Agent, AgentTask, TaskUpdate } from "@sekisho/execution/agent";
import { NodeHttpHandler } from "@smithy/node-http-handler";

const system = [
  { text: "You help a team in Slack. Be brief. Use the tool if you need to know the time." },
];
/** Each round is one call of the model. Bedrock wants the tools in each, so a model that never stops using them fails the task. */
const maxRounds = 5;
/** The time of one call. The time of the whole task is limited by its signal. */
const callTimeoutMs = 120_000;

/** The SDK finds the region and the credentials, and repeats a call that fails before its stream begins. */
const client = new BedrockRuntimeClient({
  maxAttempts: 3,
  // The default, HTTP/2, waits without limit for a connection.
  requestHandler: new NodeHttpHandler({ connectionTimeout: 3000 }),
});

const toolConfig: ToolConfiguration = {
  tools: [
    {
      toolSpec: {
        name: "current_time",
        description: "Returns the current date and time in a time zone.",
        inputSchema: {
          json: {
            type: "object",
            properties: {
              time_zone: { type: "string", description: "an IANA name, such as Europe/Berlin" },
            },
            required: ["time_zone"],
          },
        },
      },
    },
  ],
};

export const agent: Agent = async function* bedrock(task, { signal }) {
  const modelId = process.env.BEDROCK_MODEL_ID;
  if (modelId === undefined)
    throw new Error("Set BEDROCK_MODEL_ID to a model or an inference profile.");
  const messages = toMessages(task);
  const usage = { input_tokens: 0, output_tokens: 0 };
  for (let round = 1; round <= maxRounds; round += 1) {
    const command = new ConverseStreamCommand({ modelId, system, messages, toolConfig });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]);
    // An error of AWS is thrown as it is: the task fails, and people never read its text.
    const { stream } = await client.send(command, { abortSignal: limit });
    if (stream === undefined) throw new Error("Bedrock sent no stream.");
    const reply = yield* readReply(stream);
    usage.input_tokens += reply.usage?.inputTokens ?? 0;
    usage.output_tokens += reply.usage?.outputTokens ?? 0;
    if (reply.stopReason === "content_filtered") {
      yield { type: "failure", reason: "execution_failed" };
      return;
    }
    if (reply.stopReason !== "tool_use") {
      yield {
        type: "answer",
        text: reply.content.map((block) => block.text ?? "").join(""),
        usage,
      };
      return;
    }
    yield { type: "progress", text: "Looking at the clock" };
    const results = reply.content.flatMap(({ toolUse }) =>
      toolUse === undefined ? [] : [{ toolResult: callTool(toolUse) }],
    );
    messages.push(
      { role: "assistant", content: reply.content },
      { role: "user", content: results },
    );
  }
  yield { type: "failure", reason: "budget_exceeded" };
};

type Reply = { content: ContentBlock[]; stopReason: string; usage: TokenUsage | undefined };

/** Yields the text as far as it is written, and returns the whole message. Throws if the stream ends before the message does. */
async function* readReply(
  stream: AsyncIterable<ConverseStreamOutput>,
): AsyncGenerator<TaskUpdate, Reply> {
  const blocks = new Map<
    number | undefined,
    { text: string; toolUse?: ToolUseBlockStart; input: string }
  >();
  let [stopReason, usage]: [string?, TokenUsage?] = [];
  for await (const {
    contentBlockStart: start,
    contentBlockDelta: delta,
    messageStop,
    metadata,
  } of stream) {
    if (start?.start?.toolUse)
      blocks.set(start.contentBlockIndex, { text: "", input: "", toolUse: start.start.toolUse });
    if (delta !== undefined) {
      const knownBlock = blocks.get(delta.contentBlockIndex) ?? { text: "", input: "" };
      const text = knownBlock.text + (delta.delta?.text ?? "");
      blocks.set(delta.contentBlockIndex, {
        ...knownBlock,
        text,
        input: knownBlock.input + (delta.delta?.toolUse?.input ?? ""),
      });
      if (delta.delta?.text)
        yield {
          type: "progress",
          partial: [...blocks.values()].map((block) => block.text).join(""),
        };
    }
    stopReason = messageStop?.stopReason ?? stopReason;
    usage = metadata?.usage ?? usage;
  }
  if (stopReason === undefined) throw new Error("The model's stream broke off.");
  const content = [...blocks.values()].flatMap(({ text, toolUse, input }): ContentBlock[] => {
    if (toolUse === undefined) return text.trim() === "" ? [] : [{ text }];
    const { toolUseId, name } = toolUse;
    return [{ toolUse: { toolUseId, name, input: JSON.parse(input || "{}") } }];
  });
  return { content, stopReason, usage };
}

/** Bedrock wants turns: the user begins, and no text is blank. */
function toMessages({ text, history = [] }: AgentTask): Message[] {
  const messages: Message[] = [];
  for (const turn of [...history, { role: "user" as const, text }]) {
    const last = messages.at(-1);
    if (turn.text.trim() === "" || (last === undefined && turn.role === "assistant")) continue;
    if (last?.role === turn.role) last.content?.push({ text: turn.text });
    else messages.push({ role: turn.role, content: [{ text: turn.text }] });
  }
  return messages;
}

function callTool({ toolUseId, input }: ToolUseBlock): ToolResultBlock {
  try {
    const { time_zone: timeZone } = Object(input) as { time_zone?: unknown };
    const format = new Intl.DateTimeFormat("en-GB", {
      dateStyle: "full",
      timeStyle: "long",
      timeZone: String(timeZone),
    });
    return { toolUseId, content: [{ text: format.format(new Date()) }] };
  } catch {
    // The model reads this and may try again.
    return { toolUseId, content: [{ text: "There is no such time zone." }], status: "error" };
  }
}
