/** Reads the effects of a step: which is an act, which a wake-up, and when the next step is due. */
import type { Act, TaskEffect } from "../../task/events.ts";

/** True if nothing has to wait before the next step. */
export function isAtOnce(effects: readonly TaskEffect[]): boolean {
  const [only] = effects;
  return effects.length === 1 && only?.type === "wake" && only.delayMs === 0 && !only.jitterMs;
}

export function isAct(effect: TaskEffect): effect is Act {
  return effect.type !== "wake" && effect.type !== "stop_session";
}

export function isWake(effect: TaskEffect): effect is Extract<TaskEffect, { type: "wake" }> {
  return effect.type === "wake";
}

/** The delay of the step's wake-up, with its jitter. */
export function toDelayMs(
  { random = Math.random }: { random?: () => number },
  effects: readonly TaskEffect[],
): number {
  const { delayMs = 0, jitterMs = 0 } = effects.find(isWake) ?? {};
  return delayMs + Math.floor(random() * jitterMs);
}
