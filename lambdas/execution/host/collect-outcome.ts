/** Runs the agent to its end: updates go in, one outcome comes out, whatever the agent does. */
import * as z from "zod";
import { type Artifact, artifactSchema, maxResultBytes } from "../../../contracts/methods.ts";
import type { Agent, AgentContext, AgentTask } from "../agents/agent.ts";
import { causeKind } from "./cause-kind.ts";
import type { ExecutionTask, Outcome } from "./execution-task.ts";

/** An agent may be plain JavaScript: what it yields is checked like everything that crosses a boundary. */
const updateSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("progress"), text: z.string().optional(), percent: z.number().optional() }),
  z.object({ type: z.literal("artifact"), artifact: artifactSchema }),
  z.object({ type: z.literal("answer"), text: z.string(), usage: z.looseObject({}).optional() }),
  z.object({ type: z.literal("failure"), reason: z.enum(["execution_failed", "plan_error", "budget_exceeded"]) }),
]);

const maxProgressLength = 1000;
/** As JSON, with the escapes that a text may need: an item of DynamoDB holds 400 KB, and the record's own fields are small. */
const maxStoredBytes = 384_000;

/**
 * Never rejects: a throw, an update that is none, and an end without an answer are `execution_failed`; more than
 * `maxResultBytes` of text and inline artifacts, or more than a record holds, is `payload_too_large`. After an abort nothing more is taken from the agent.
 */
export async function collectOutcome({
  agent,
  task,
  context,
  onProgress,
}: {
  agent: Agent;
  task: AgentTask;
  context: AgentContext;
  onProgress: (progress: NonNullable<ExecutionTask["progress"]>) => void;
}): Promise<Outcome> {
  const artifacts: Artifact[] = [];
  let bytes = 0;
  try {
    for await (const yielded of agent(task, context)) {
      if (context.signal.aborted) break;
      const update = updateSchema.parse(yielded);
      if (update.type === "failure") return { type: "failure", reason: update.reason };
      if (update.type === "progress") {
        onProgress(tidy(update));
        continue;
      }
      bytes += update.type === "artifact" ? jsonBytes(update.artifact) : answerBytes(update);
      if (bytes > maxResultBytes) return { type: "failure", reason: "payload_too_large" };
      if (update.type === "answer") {
        const outcome = success({ ...update, artifacts });
        return jsonBytes(outcome) > maxStoredBytes ? { type: "failure", reason: "payload_too_large" } : outcome;
      }
      artifacts.push(update.artifact);
    }
    context.log.warn("agent_without_answer");
  } catch (error) {
    // What an agent throws because it was told to stop is no fault of it.
    if (!context.signal.aborted) context.log.warn("agent_threw", { cause_kind: causeKind(error) });
  }
  return { type: "failure", reason: "execution_failed" };
}

type Answer = { text: string; usage?: Record<string, unknown> | undefined };

function success({ text, usage, artifacts }: Answer & { artifacts: Artifact[] }): Outcome {
  return { type: "success", text, ...(artifacts.length > 0 && { artifacts }), ...(usage && { usage }) };
}

function answerBytes({ text, usage }: Answer): number {
  return Buffer.byteLength(text) + (usage === undefined ? 0 : jsonBytes(usage));
}

/** Throws for what JSON cannot say, such as a cycle. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function tidy({ text, percent }: { text?: string | undefined; percent?: number | undefined }) {
  return {
    ...(text !== undefined && { text: text.slice(0, maxProgressLength) }),
    ...(percent !== undefined && { percent: Math.min(100, Math.max(0, percent)) }),
  };
}
