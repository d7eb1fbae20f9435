/** Collects a model's answer from its stream: leaves out its reasoning, reports what is written so far, and judges how it ended. */
import { maxResultBytes } from "@sekisho/contracts/limits.ts";
import type { AgentContext, AgentTask, TaskUpdate } from "./agent.ts";
import { createPartialReporter } from "./partial-reporter.ts";
import { removeReasoning } from "./reasoning.ts";

/** `stopReason` is undefined for a stream that broke off. */
export type AnswerEnd = {
  stopReason?: string | undefined;
  usage?: Record<string, unknown> | undefined;
};

export type ModelAnswer = {
  /** Returns the updates to report now. */
  add(text: string): TaskUpdate[];
  /** The text so far, without the reasoning. */
  text(): string;
  /** True if the host rejects the answer as too large, so that the rest of the stream is not needed. */
  isTooLarge(): boolean;
  end(end: AnswerEnd): TaskUpdate;
};

type AnswerContext = { task: Pick<AgentTask, "text">; log: AgentContext["log"] };

/**
 * The result begins the answer of one task. Some templates leave out the tag that opens the reasoning. Once a model has answered like that, its
 * later answers are reported from the closing tag on only.
 */
export function createModelAnswers({
  now,
  isFirstTextUrgent = false,
}: {
  now: () => number;
  isFirstTextUrgent?: boolean;
}): (context: AnswerContext) => ModelAnswer {
  let lacksOpeningTag = false;
  return ({ task, log }) => {
    const report = createPartialReporter({ now, startedAtMs: isFirstTextUrgent ? 0 : now() });
    let modelText = "";
    /** The visible text cannot reach the limit before the written text is as long as this. */
    let checkedAgainAt = maxResultBytes;

    function readPartial(): string {
      const partial = removeReasoning(modelText, { isWhole: false });
      return lacksOpeningTag && partial.reasoning === "none" ? "" : partial.text;
    }

    return {
      add(text) {
        modelText += text;
        return report(readPartial);
      },
      text: () => removeReasoning(modelText, { isWhole: true }).text,
      isTooLarge() {
        if (modelText.length <= checkedAgainAt) return false;
        const { length } = removeReasoning(modelText, { isWhole: true }).text;
        if (length > maxResultBytes) return true;
        checkedAgainAt = modelText.length + Math.max(maxResultBytes - length, minStep);
        return false;
      },
      end({ stopReason, usage }) {
        const answer = removeReasoning(modelText, { isWhole: true });
        lacksOpeningTag ||= answer.reasoning === "unopened";
        const { text } = answer;
        const stopKind = readStopKind(stopReason);
        if (text.length <= maxResultBytes && (text.trim() === "" || stopKind === "failed")) {
          log.warn("model_without_answer", {
            reason: "execution_failed",
            status: toStatus(stopReason),
          });
          return { type: "failure", reason: "execution_failed" };
        }
        const answerText =
          stopKind === "whole" || stopKind === "failed"
            ? text
            : addCutNote({ text, question: task.text, stopKind });
        return { type: "answer", text: answerText, ...(usage && { usage }) };
      },
    };
  };
}

/** Checking each part of a long stream would take quadratic time. */
const minStep = 4096;

/** Stop reasons of an answer that reached a limit of length, in lower case. */
const cutReasons: readonly string[] = [
  ...[
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_output_tokens_exceeded",
    "max_completion_tokens",
    "model_length",
    "token_limit",
  ],
  ...["context_length_exceeded", "model_context_window_exceeded"],
];
/** Stop reasons of an agent that was ended before it was done. */
const endedReasons: readonly string[] = ["timeout_exceeded", "max_iterations_exceeded"];
/** Stop reasons of an agent that something else stopped, such as a hook. */
const stoppedReasons: readonly string[] = ["interrupted", "partial_turn", "hook_stopped"];
/** Stop reasons of an answer that broke off, or from which a filter removed parts. */
const failedReasons: readonly string[] = [
  ...[
    "content_filter",
    "content_filtered",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "sensitive",
  ],
  ...[
    "error",
    "network_error",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "insufficient_system_resource",
  ],
  ...["malformed_model_output", "malformed_tool_use", "malformed_function_call"],
];

function readStopKind(stopReason: string | undefined): "whole" | "failed" | CutKind {
  if (stopReason === undefined) return "failed";
  const reason = stopReason.toLowerCase();
  if (cutReasons.includes(reason)) return "cut";
  if (endedReasons.includes(reason)) return "ended";
  if (stoppedReasons.includes(reason)) return "stopped";
  return failedReasons.includes(reason) ? "failed" : "whole";
}

/** Logs a word only, because an endpoint may write anything there. */
function toStatus(stopReason = ""): string | undefined {
  return /^[a-z_]{1,40}$/i.test(stopReason) ? stopReason : undefined;
}

const japanese = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;

const cutNotes = {
  cut: {
    en: "This answer was cut off because it reached the model's length limit.",
    ja: "回答がモデルの長さの上限に達したため、途中で切れています。",
  },
  ended: {
    en: "This answer was cut off because the agent reached a limit of time or steps.",
    ja: "エージェントが時間または手順の上限に達したため、回答が途中で切れています。",
  },
  stopped: {
    en: "The agent was stopped before it finished this answer.",
    ja: "エージェントが途中で止められたため、回答は完了していません。",
  },
};
type CutKind = keyof typeof cutNotes;

/** Says in the language of the conversation that the answer is not whole. The note must not end up in a code block that was cut. */
function addCutNote(answer: { text: string; question: string; stopKind: CutKind }): string {
  const { text, question, stopKind } = answer;
  const note = cutNotes[stopKind][japanese.test(text + question) ? "ja" : "en"];
  const [fence = ""] = findOpenFence(text);
  return [text.trimEnd(), fence, `\n${note}`].filter((line) => line !== "").join("\n");
}

/** The fence of the code block that the text ends in. */
function findOpenFence(text: string): string[] {
  const fences = [...text.matchAll(/^[ \t]*(`{3,}|~{3,})/gm)].map(([, fence = ""]) => fence);
  return fences.length % 2 === 0 ? [] : fences.slice(-1);
}
