/** Acts that ask a person something for the agent, and bring the reply back. */
import { markAsking, markWorking } from "../indicators.ts";
import { askQuestion, showQuestion } from "../questions.ts";
import { showProgress } from "../show-progress.ts";
import type { ActFamily, ActParts } from "./parts.ts";

type QuestionActs = ActFamily<"give_reply" | "ask_question" | "show_question">;

export function createQuestionActs(parts: ActParts): QuestionActs {
  const { slack, text, questions, indicators, now } = parts;
  return {
    async give_reply({ act, task, signal }) {
      const { reconcile } = act;
      return { event: await questions.giveFromThread({ task, reconcile, signal }) };
    },
    async ask_question({ act, task, signal }) {
      const request = { slack, task, text, indicators, signal };
      const ts = await askQuestion({ ...request, reconcile: act.reconcile, nowMs: now() });
      await markAsking(request);
      // Best effort. The placeholder now says that the bot waits for an answer.
      await showProgress({ ...request, streaming: false, now });
      return { event: { type: "question_asked", ts, nowMs: now() } };
    },
    async show_question({ task, signal }) {
      const request = { slack, task, text, indicators, signal };
      await showQuestion({ ...request, nowMs: now() });
      if (task.question?.answer !== undefined) {
        await markWorking(request);
        await showProgress({ ...request, streaming: false, now });
      }
      return { event: { type: "question_shown", nowMs: now() } };
    },
  };
}
