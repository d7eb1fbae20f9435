/** Runs the agent's function, checks its updates, and turns them into one outcome or question. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import { maxPartialTextLength, maxResultBytes, maxSteps } from "@sekisho/contracts/limits.ts";
import type { Artifact, TaskStep } from "@sekisho/contracts/methods.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { isTooDeep, lastOfEachId, truncate } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { type Agent, type AgentContext, type AgentTask, runAgent } from "../agents/agent.ts";
import type { RunReport } from "../tasks/changes.ts";
import type { ExecutionOutcome, OpenQuestion } from "../tasks/execution-task.ts";
import { refuseArtifact } from "./artifacts.ts";
import { type Update, updateSchema } from "./update-schema.ts";

const maxProgressLength = 1000;

/** The limit of the contract. */
const maxStepTitleLength = 200;

/** The most bytes of an outcome and its artifacts as JSON. The record's other fields need the rest of DynamoDB's 400 KB. */
const maxStoredBytes = 384_000;

/** How a turn of the agent ended: with the task's outcome, or with a question. */
type TurnEnd = ExecutionOutcome | ({ type: "question" } & Omit<OpenQuestion, "messageId">);

export type AgentTurn = { end: TurnEnd; artifacts: Artifact[] };

/**
 * Never rejects. A throw, an invalid update, a blank answer without artifacts, and an end without an answer are `execution_failed`. Text and artifacts beyond
 * `maxResultBytes`, or beyond what a record holds, are `payload_too_large`. An artifact that no client would read is left out, and so are broken members of
 * progress. Stops reading after an abort. `earlierArtifacts` are those of the task's earlier turns. The agent's cleaning up (its `finally`) decides nothing: it goes
 * on after this function has resolved, and is up to `endUpdates`, which gets the agent's generator.
 */
export async function collectOutcome(request: {
  agent: Agent;
  task: AgentTask;
  context: AgentContext;
  earlierArtifacts?: readonly Artifact[] | undefined;
  /** True if a client would read this address of an artifact. */
  isReadableUrl: (url: string) => boolean;
  onNews: (news: RunReport) => void;
  endUpdates: (updates: AsyncGenerator<unknown>) => void;
  /** Calls the agent's code, so that its uncaught errors are known as the agent's. */
  callAgent?: <T>(call: () => T) => T;
}): Promise<AgentTurn> {
  const {
    agent,
    task,
    context,
    earlierArtifacts = [],
    isReadableUrl,
    onNews,
    endUpdates,
    callAgent = (call) => call(),
  } = request;
  const artifacts = [...earlierArtifacts];
  let progress: RunReport["progress"];
  let bytes = artifacts.reduce((sum, artifact) => sum + jsonBytes(artifact), 0);
  const turn = (end: TurnEnd): AgentTurn => ({ end, artifacts });
  const tooLarge = (): AgentTurn => ({
    end: { type: "failure", reason: "payload_too_large" },
    artifacts: [],
  });
  const readUpdate = createUpdateReader(context.log);
  let updates: AsyncGenerator<unknown> | undefined;
  try {
    const generator = callAgent(() => runAgent(agent, task, context));
    updates = generator;
    const readNext = () => callAgent(() => generator.next());
    // A `for await` would wait for the agent's `finally`, and lose the answer if that throws.
    for (let next = await readNext(); next.done !== true; next = await readNext()) {
      if (context.signal.aborted) break;
      const update = readUpdate(next.value);
      if (update === undefined) return turn({ type: "failure", reason: "execution_failed" });
      switch (update.type) {
        case "failure":
          return turn(createFailure(update));
        case "question":
          return turn(update);
        case "progress":
          progress = nextProgress({ update, previousProgress: progress });
          onNews({ progress, artifacts: [...artifacts] });
          continue;
        case "artifact": {
          const refusal = refuseArtifact({
            artifact: update.artifact,
            artifactCount: artifacts.length,
            isReadableUrl,
          });
          if (refusal !== undefined) {
            context.log.warn("agent_artifact_left_out", { cause_kind: refusal });
            continue;
          }
          bytes += jsonBytes(update.artifact);
          artifacts.push(update.artifact);
          if (bytes > maxResultBytes || jsonBytes(artifacts) > maxStoredBytes) return tooLarge();
          onNews({ progress, artifacts: [...artifacts] });
          continue;
        }
        case "answer": {
          if (!isVisible(update.text) && artifacts.length === 0) {
            context.log.warn("agent_without_answer", { reason: "execution_failed" });
            return turn({ type: "failure", reason: "execution_failed" });
          }
          const outcome = createSuccess(update);
          bytes += answerBytes(outcome);
          const isFitting = bytes <= maxResultBytes && isStorable({ outcome, artifacts });
          return isFitting ? turn(outcome) : tooLarge();
        }
      }
    }
    context.log.warn("agent_without_answer", { reason: "execution_failed" });
  } catch (error) {
    // A stopped agent may throw; that is no failure of the agent.
    if (!context.signal.aborted) {
      context.log.warn("agent_threw", { reason: "execution_failed", cause_kind: errorKind(error) });
    }
  } finally {
    if (updates !== undefined) endUpdates(updates);
  }
  return turn({ type: "failure", reason: "execution_failed" });
}

function createFailure({ reason, lost }: Extract<Update, { type: "failure" }>): ExecutionOutcome {
  return { type: "failure", reason, ...(lost === true && { lost }) };
}

type Success = Extract<ExecutionOutcome, { type: "success" }>;

type Answer = {
  text: string;
  usage?: Record<string, unknown> | undefined;
  direct?: boolean | undefined;
};

function createSuccess({ text, usage: agentUsage, direct }: Answer): Success {
  const usage = agentUsage && dropBrokenCounts(agentUsage);
  return {
    type: "success",
    text,
    ...(usage && { usage }),
    ...(direct === true && { direct: true }),
  };
}

const countNames: readonly string[] = ["input_tokens", "output_tokens", "total_tokens"];

/** Drops token counts that are no integers from 0 on. Returns undefined if nothing is left. */
function dropBrokenCounts(usage: Record<string, unknown>): Record<string, unknown> | undefined {
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
  const validEntries = Object.entries(usage).filter(
    ([name, value]) => !countNames.includes(name) || isCount(value),
  );
  return validEntries.length === 0 ? undefined : Object.fromEntries(validEntries);
}

function answerBytes({ text, usage }: Answer): number {
  return Buffer.byteLength(text) + (usage === undefined ? 0 : jsonBytes(usage));
}

/** Throws as `jsonBytes` does. */
function isStorable({
  outcome,
  artifacts,
}: {
  outcome: Success;
  artifacts: readonly Artifact[];
}): boolean {
  const isText = outcome.usage === undefined && artifacts.length === 0;
  if (isText) return isJsonWithin({ value: outcome, maxBytes: maxStoredBytes - "[]".length });
  return jsonBytes(outcome) + jsonBytes(artifacts) <= maxStoredBytes;
}

/** Throws for a value that JSON cannot express, such as a cycle, and for one that is nested too deeply. */
function jsonBytes(value: unknown): number {
  const json = Buffer.from(JSON.stringify(value));
  if (isTooDeep(json)) throw new SekishoError("invalid_params");
  return json.length;
}

type Progress = Omit<Extract<Update, { type: "progress" }>, "type">;

/** An update replaces the last progress, except for its partial text and its steps, which stay until there are newer ones. */
function nextProgress({
  update,
  previousProgress,
}: {
  update: Progress;
  previousProgress: RunReport["progress"];
}): RunReport["progress"] {
  const { text, percent, partial, steps = previousProgress?.steps } = update;
  const partialText =
    partial === undefined
      ? previousProgress?.partial_text
      : truncate(partial, maxPartialTextLength);
  return {
    ...(text !== undefined && { text: truncate(text, maxProgressLength) }),
    ...(percent !== undefined && { percent: Math.min(100, Math.max(0, percent)) }),
    ...(partialText !== undefined && { partial_text: partialText }),
    ...(steps !== undefined && { steps: fittingSteps(steps) }),
  };
}

/** The newest steps, with titles that fit, because a long plan is no reason to lose the answer. */
function fittingSteps(steps: NonNullable<Progress["steps"]>): TaskStep[] {
  const newestSteps = lastOfEachId(steps).slice(-maxSteps);
  return newestSteps.map(({ title, ...step }) => ({
    ...step,
    title: truncate(title, maxStepTitleLength),
  }));
}

type Issue = { path: readonly PropertyKey[]; code: string };

/**
 * Returns undefined for an invalid update. The log says where and why (`options.0.id: too_big`), without a value. Progress is decoration, so
 * its broken members are only left out, which is logged once per member and reason.
 */
function createUpdateReader(log: Log): (value: unknown) => Update | undefined {
  const loggedCauses = new Set<string>();
  return (value) => {
    const { data, error } = updateSchema.safeParse(value);
    const [issue] = error?.issues ?? [];
    if (issue === undefined) return data;
    if (isProgress(value)) {
      const repairedUpdate = updateSchema.safeParse(withoutBroken(value, error?.issues ?? []));
      for (const { path, code } of error?.issues ?? []) {
        const cause_kind = `${["update", ...path.filter((part) => typeof part === "string")].join(".")}: ${code}`;
        if (repairedUpdate.success && !loggedCauses.has(cause_kind))
          log.warn("agent_progress_left_out", { cause_kind });
        loggedCauses.add(cause_kind);
      }
      if (repairedUpdate.success) return repairedUpdate.data;
    }
    const cause_kind = `${["update", ...issue.path].join(".")}: ${issue.code}`;
    log.warn("agent_update_refused", { reason: "execution_failed", cause_kind });
    return undefined;
  };
}

function isProgress(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && "type" in value && value.type === "progress"
  );
}

function withoutBroken(
  progress: Record<string, unknown>,
  issues: readonly Issue[],
): Record<string, unknown> {
  const brokenPaths = new Set(issues.map(({ path }) => path.slice(0, 2).join(".")));
  const { steps, ...others } = progress;
  const validMembers = Object.entries(others).filter(([name]) => !brokenPaths.has(name));
  const validSteps = Array.isArray(steps)
    ? steps.filter((_step, index) => !brokenPaths.has(`steps.${index}`))
    : undefined;
  return {
    ...Object.fromEntries(validMembers),
    ...(validSteps && !brokenPaths.has("steps") && { steps: validSteps }),
  };
}
