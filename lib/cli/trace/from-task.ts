/** What the Verification zone's record tells of a task's way. */
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { describeEventName, formatStepTitle } from "./event-text.ts";
import { createDetail, type PictureStep, type SourceStep } from "./picture-step.ts";

export function listTaskSteps(task: Task): SourceStep[] {
  return [...task.history.map(stepOfEntry), ...pollSteps(task), ...questionSteps(task), ...progressSteps(task)];
}

/** Of a request; a log line of the call tells when it began, too. */
export function callKey(method: string): string {
  return `call ${method}`;
}

/** Whoever tells of the same event and state, moments apart, tells of the same step. */
export function decisionKey({ event, state }: { event: string; state: string }): string {
  return `decision ${event} ${state}`;
}

export const receivedKey = "asked";

function stepOfEntry({ atMs, event, state }: Task["history"][number]): SourceStep {
  if (event === "asked") {
    return { key: receivedKey, step: { atMs, zone: "slack", title: describeEventName(event), detail: {} } };
  }
  const title = formatStepTitle({ words: describeEventName(event), state });
  return { key: decisionKey({ event, state }), step: verification({ atMs, title }) };
}

/** The record keeps how many there were, and when the latest was. */
function pollSteps({ wait }: Task): SourceStep[] {
  const { polls, polledAtMs } = wait ?? { polls: 0 };
  if (polledAtMs === undefined || polls === 0) return [];
  const title = polls === 1 ? "asked once how far it is" : `asked ${polls} times how far it is, now the latest time`;
  return [{ key: callKey("get_task"), step: { ...verification({ atMs: polledAtMs, title }), zone: "transport" } }];
}

function questionSteps({ question }: Task): SourceStep[] {
  if (question === undefined) return [];
  const { index, askedAtMs, options, answer } = question;
  const detail = { question: index + 1, options: options.length };
  const asks = verification({ atMs: askedAtMs, title: "the agent asks", detail });
  if (answer === undefined) return [{ step: asks }];
  const { user, option, atMs } = answer;
  const given = createDetail({ question: index + 1, user, option: option === undefined ? undefined : option + 1 });
  const title = answer.arrival?.type === "arrived" ? "a person answers, and the agent has it" : "a person answers";
  return [{ step: asks }, { step: { ...verification({ atMs, title, detail: given }), zone: "slack" } }];
}

function progressSteps({ progress }: Task): SourceStep[] {
  if (progress === undefined) return [];
  const { shownAtMs: atMs, percent, partialText } = progress;
  const detail = createDetail({ percent, partial_characters: partialText?.length });
  return [{ step: { atMs, zone: "slack", title: "latest progress is shown", detail } }];
}

function verification(step: Pick<PictureStep, "atMs" | "title"> & Partial<PictureStep>): PictureStep {
  return { zone: "verification", detail: {}, ...step };
}
