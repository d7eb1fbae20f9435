/** The span of one run of an agent, by OpenTelemetry's conventions. */
import type { OpenSpan, SpanStart } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type ExecutionTask, toLoggableId } from "../tasks/execution-task.ts";
import type { AgentTurn } from "./collect-outcome.ts";

/** The span of one run. It belongs to the task's stored trace, whichever process runs the agent. */
export function startAgentSpan(request: {
  agentName: string;
  task: Pick<ExecutionTask, "id" | "requestId" | "trace">;
  /** The derived id that the agent gets, never the caller's own text. */
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
      "gen_ai.conversation.id": contextId,
      "sekisho.request_id": toLoggableId(task.requestId),
      "sekisho.task_id": task.id,
    },
  };
}

/** `turn` is undefined if the agent was stopped; `cause` says why. */
export function endAgentSpan(request: {
  span: OpenSpan;
  turn: AgentTurn | undefined;
  cause: string | undefined;
}): void {
  const { span, turn, cause } = request;
  const turnEnd = turn?.end;
  span.set({ "sekisho.outcome": turnEnd?.type ?? "stopped" });
  if (turnEnd?.type === "success") span.set(readTokenCounts(turnEnd.usage));
  if (turnEnd?.type === "failure") span.fail(turnEnd.reason);
  if (turnEnd === undefined) span.fail(cause ?? "stopped");
}

/** Reads the token counts, which model APIs name differently. */
function readTokenCounts(usage: Record<string, unknown> = {}): Record<string, number | undefined> {
  const findCount = (...names: string[]) =>
    names.map((name) => usage[name]).find((value) => typeof value === "number");
  return {
    "gen_ai.usage.input_tokens": findCount("input_tokens", "inputTokens", "prompt_tokens"),
    "gen_ai.usage.output_tokens": findCount("output_tokens", "outputTokens", "completion_tokens"),
  };
}
