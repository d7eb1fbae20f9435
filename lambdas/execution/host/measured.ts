/** What one run of an agent counts. */
import type { Metrics } from "../../shared/telemetry/metrics.ts";
import type { ExecutionTask } from "./execution-task.ts";
import type { StopCause } from "./run.ts";

/** `task` is as the run knows it: of a cancel elsewhere it knows the cause alone. What another run took over is that one's to count. */
export function countRun({
  metrics,
  agentName: agent,
  task: { state, outcome },
  cause,
  workedMs,
}: {
  metrics: Metrics;
  agentName: string;
  task: Pick<ExecutionTask, "state" | "outcome">;
  cause: StopCause | undefined;
  workedMs: number;
}): void {
  metrics.observe("sekisho_agent_seconds", { agent }, Math.max(0, workedMs) / 1000);
  if (cause === "superseded") return;
  const failure = outcome?.type === "failure" ? outcome : undefined;
  const reason = failure?.lost ? "lost" : (failure?.reason ?? "none");
  metrics.add("sekisho_executions_total", { state: cause === "canceled" ? "canceled" : state, reason });
}
