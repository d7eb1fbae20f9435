/** An agent that asks a language model and lets it use two tools, over any endpoint that speaks OpenAI's chat completions. */
import type { Agent, AgentTask } from "@sekisho/execution/agent";
import { type Message, streamCompletion } from "./chat-completions.ts";
import { callTool, tools } from "./tools.ts";

const system = "You help a team in Slack. Be brief. Use the tools for what you cannot know.";
/** Each round is one call of the model. In the last one it has to answer without tools. */
const maxRounds = 5;

export const agent: Agent = async function* llm(task, { signal }) {
  const messages = toMessages(task);
  const usage = { input_tokens: 0, output_tokens: 0 };
  for (let round = 1; round <= maxRounds; round += 1) {
    const toolChoice = round < maxRounds ? "auto" : "none";
    // Passes on what the model writes while it writes it.
    const reply = yield* streamCompletion({ messages, tools, toolChoice, signal });
    usage.input_tokens += reply.usage.input_tokens;
    usage.output_tokens += reply.usage.output_tokens;
    if (reply.toolCalls.length === 0) {
      yield { type: "answer", text: reply.text, usage };
      return;
    }
    if (toolChoice === "none") break;
    // An endpoint remembers nothing: the model's calls go back to it, each with its result.
    messages.push({ role: "assistant", content: reply.text || null, tool_calls: reply.toolCalls });
    for (const { id, function: call } of reply.toolCalls) {
      yield { type: "progress", text: `Using ${call.name}` };
      messages.push({
        role: "tool",
        tool_call_id: id,
        content: await callTool({ ...call, signal }),
      });
    }
  }
  yield { type: "failure", reason: "budget_exceeded" };
};

function toMessages({ text, history = [] }: AgentTask): Message[] {
  const earlier = history.map(
    (message): Message => ({ role: message.role, content: message.text }),
  );
  return [{ role: "system", content: system }, ...earlier, { role: "user", content: text }];
}
