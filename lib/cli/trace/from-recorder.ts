/** What the local run saw of a task's way, frames included. */
import { type RecordedStep, zoneOfStep } from "../../local/recorder/step-recorder.ts";
import { callKey, decisionKey } from "./from-task.ts";
import { hideTexts } from "./hide-texts.ts";
import type { PictureStep, SourceStep } from "./picture-step.ts";

export function toRecorderStep({ atMs, kind, title, detail, failed }: RecordedStep): SourceStep {
  const step: PictureStep = { atMs, zone: zoneOfStep[kind], title, detail: {}, ...(failed === true && { failed }) };
  switch (kind) {
    case "request":
      return { key: callKey(title), step: { ...step, frame: hideTexts(detail) } };
    case "response":
      // Its title may quote the agent's progress.
      return { step: { ...step, title: `answer to ${title.replace(/:.*$/s, "")}`, frame: hideTexts(detail) } };
    case "claim":
    case "decision":
      return { key: keyOfDecision({ title, detail }), step: { ...step, detail: nextOf(detail) } };
    default:
      return { step: { ...step, detail: statusOf(detail) } };
  }
}

function keyOfDecision({ title, detail }: Pick<RecordedStep, "title" | "detail">): string {
  const { event } = Object(detail) as { event?: { type?: unknown } };
  return decisionKey({ event: String(event?.type), state: title.split(" → ").at(-1) ?? "" });
}

function nextOf(detail: unknown): PictureStep["detail"] {
  const { next } = Object(detail) as { next?: unknown };
  return Array.isArray(next) && next.length > 0 ? { next: next.join(", ") } : {};
}

function statusOf(detail: unknown): PictureStep["detail"] {
  const { status, deliveries } = Object(detail) as { status?: unknown; deliveries?: unknown };
  return {
    ...(typeof status === "number" && { status }),
    ...(typeof deliveries === "number" && deliveries > 1 && { deliveries }),
  };
}
