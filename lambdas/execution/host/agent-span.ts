/** The span of one turn of an agent, by the semantic conventions for generative AI: names, ids and counts, never what is said. Pure. */
import { createHash } from "node:crypto";
import { sessionIdSchema } from "../../../contracts/methods.ts";
import type { OpenSpan, SpanStart } from "../../shared/telemetry/spans.ts";
import type { Turn } from "./collect-outcome.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { loggedId } from "./logged-ids.ts";

/** It goes on with the trace of the record, whichever process runs the agent. */
export function agentSpan(request: {
  agentName: string;
  task: Pick<ExecutionTask, "id" | "requestId" | "trace">;
  contextId: string | undefined;
}): SpanStart {
  const { agentName, task, contextId } = request;
  return {
    name: `invoke_agent ${agentName}`,
    kind: "internal",
    trace: task.trace,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": agentName,
      "gen_ai.conversation.id": contextId === undefined ? undefined : conversationId(contextId),
      "sekisho.request_id": loggedId(task.requestId),
      "sekisho.task_id": task.id,
    },
  };
}

/** Over A2A a caller may name its context as it likes: of what is no id only a digest, by which a conversation is still one. */
function conversationId(contextId: string): string {
  if (sessionIdSchema.safeParse(contextId).success) return contextId;
  return loggedId(contextId) ?? createHash("sha256").update(contextId).digest("hex").slice(0, 32);
}

/** `turn` is undefined where the agent was stopped, for `cause`. */
export function endAgentSpan(request: { span: OpenSpan; turn: Turn | undefined; cause: string | undefined }): void {
  const { span, turn, cause } = request;
  const ended = turn?.ended;
  span.set({ "sekisho.outcome": ended?.type ?? "stopped" });
  if (ended?.type === "success") span.set(tokensOf(ended.usage));
  if (ended?.type === "failure") span.fail(ended.reason);
  if (ended === undefined) span.fail(cause ?? "stopped");
}

/** Every maker of models names them otherwise. */
function tokensOf(usage: Record<string, unknown> = {}): Record<string, number | undefined> {
  const first = (...names: string[]) => names.map((name) => usage[name]).find((value) => typeof value === "number");
  return {
    "gen_ai.usage.input_tokens": first("input_tokens", "inputTokens", "prompt_tokens"),
    "gen_ai.usage.output_tokens": first("output_tokens", "outputTokens", "completion_tokens"),
  };
}
