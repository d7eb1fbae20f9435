/** Runs the agent to its end: updates go in, one outcome comes out, whatever the agent does. */
import { SekishoError } from "../../../contracts/errors.ts";
import { maxPartialTextLength } from "../../../contracts/limits.ts";
import { type Artifact, maxResultBytes } from "../../../contracts/methods.ts";
import { isTooDeep } from "../../shared/json-depth.ts";
import type { Agent, AgentContext, AgentTask } from "../agents/agent.ts";
import { readUpdate } from "./agent-update.ts";
import { causeKind } from "./cause-kind.ts";
import type { Report } from "./changes.ts";
import type { Outcome, Question } from "./execution-task.ts";

const maxProgressLength = 1000;

/** As JSON, with the escapes that a text may need: an item of DynamoDB holds 400 KB, and the record's own fields are small. */
const maxStoredBytes = 384_000;

/** How a turn of the agent ended: with the task's outcome, or with a question. */
type Ended = Outcome | ({ type: "question" } & Omit<Question, "messageId">);
export type Turn = { ended: Ended; artifacts: Artifact[] };

/**
 * Never rejects: a throw, an update that is none, and an end without an answer are `execution_failed`; more than
 * `maxResultBytes` of text and inline artifacts, or more than a record holds, is `payload_too_large`. After an abort nothing
 * more is taken from the agent. `made` is what earlier turns of the task left.
 */
export async function collectOutcome({
  agent,
  task,
  context,
  made = [],
  onNews,
}: {
  agent: Agent;
  task: AgentTask;
  context: AgentContext;
  made?: readonly Artifact[] | undefined;
  onNews: (news: Report) => void;
}): Promise<Turn> {
  const artifacts = [...made];
  let progress: Report["progress"];
  let bytes = artifacts.reduce((sum, artifact) => sum + jsonBytes(artifact), 0);
  const turn = (ended: Ended): Turn => ({ ended, artifacts });
  const tooLarge = (): Turn => ({ ended: { type: "failure", reason: "payload_too_large" }, artifacts: [] });
  try {
    for await (const yielded of agent(task, context)) {
      if (context.signal.aborted) break;
      const update = readUpdate({ yielded, log: context.log });
      if (update === undefined) return turn({ type: "failure", reason: "execution_failed" });
      switch (update.type) {
        case "failure":
          return turn({ type: "failure", reason: update.reason });
        case "question":
          return turn(update);
        case "progress":
          progress = nextProgress({ update, known: progress });
          onNews({ progress, artifacts: [...artifacts] });
          continue;
        case "artifact":
          bytes += jsonBytes(update.artifact);
          artifacts.push(update.artifact);
          if (bytes > maxResultBytes || jsonBytes(artifacts) > maxStoredBytes) return tooLarge();
          onNews({ progress, artifacts: [...artifacts] });
          continue;
        case "answer": {
          bytes += answerBytes(update);
          const outcome = success(update);
          const isTooLarge = bytes > maxResultBytes || jsonBytes(outcome) + jsonBytes(artifacts) > maxStoredBytes;
          return isTooLarge ? tooLarge() : turn(outcome);
        }
      }
    }
    context.log.warn("agent_without_answer", { reason: "execution_failed" });
  } catch (error) {
    // What an agent throws because it was told to stop is no fault of it.
    if (!context.signal.aborted) {
      context.log.warn("agent_threw", { reason: "execution_failed", cause_kind: causeKind(error) });
    }
  }
  return turn({ type: "failure", reason: "execution_failed" });
}

type Answer = { text: string; usage?: Record<string, unknown> | undefined; direct?: boolean | undefined };

function success({ text, usage, direct }: Answer): Outcome {
  return { type: "success", text, ...(usage && { usage }), ...(direct === true && { direct: true }) };
}

function answerBytes({ text, usage }: Answer): number {
  return Buffer.byteLength(text) + (usage === undefined ? 0 : jsonBytes(usage));
}

/** Throws for what JSON cannot say, such as a cycle, and for what is nested too deeply. */
function jsonBytes(value: unknown): number {
  const json = Buffer.from(JSON.stringify(value));
  if (isTooDeep(json)) throw new SekishoError("invalid_params");
  return json.length;
}

type Progress = { text?: string | undefined; percent?: number | undefined; partial?: string | undefined };

/** It replaces the last one; only what is written of the answer stays written. */
function nextProgress({ update, known }: { update: Progress; known: Report["progress"] }): Report["progress"] {
  const { text, percent, partial } = update;
  const written =
    partial === undefined ? known?.partial_text : beginning({ text: partial, most: maxPartialTextLength });
  return {
    ...(text !== undefined && { text: beginning({ text, most: maxProgressLength }) }),
    ...(percent !== undefined && { percent: Math.min(100, Math.max(0, percent)) }),
    ...(written !== undefined && { partial_text: written }),
  };
}

/** Never half a character at its end, wherever it was cut: a reader of JSON need not take one. */
function beginning({ text, most }: { text: string; most: number }): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}
