/** Remembers between requests of the installation flow which OAuth states were used, and counts the installations of a day. */
import { installSeconds } from "./state.ts";

export type InstallLedger = {
  /** Resolves to true at most once per id. Resolves to false if the state was used, or is too old for the ledger to know. */
  useState(request: { id: string; issuedAtMs: number }): Promise<boolean>;
  /** Counts one installation. Resolves to false if the daily limit is exceeded. */
  countInstallation(): Promise<boolean>;
};

export const defaultMaxInstallsPerDay = 50;

/** The UTC day, such as 2026-11-22. */
export function formatInstallDay(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

/**
 * Remembers up to `maxStates` used states. When it is full, it forgets the older half and refuses every state issued no later
 * than those. A flood of states cannot block new installations, and no state works twice.
 */
export function createMemoryLedger(
  options: { maxPerDay?: number | undefined; maxStates?: number; now?: () => number } = {},
): InstallLedger {
  const { maxPerDay = defaultMaxInstallsPerDay, maxStates = 100_000, now = Date.now } = options;
  const issuedAtByState = new Map<string, number>();
  let forgottenUntilMs = Number.NEGATIVE_INFINITY;
  let today = { day: "", installations: 0 };

  function forget(untilMs: number): void {
    forgottenUntilMs = Math.max(forgottenUntilMs, untilMs);
    for (const [id, issuedAtMs] of issuedAtByState) {
      if (issuedAtMs <= untilMs) issuedAtByState.delete(id);
    }
  }

  function makeRoom(): void {
    if (issuedAtByState.size < maxStates) return;
    // Expired states are already refused by their own check, so they can be forgotten.
    forget(now() - installSeconds * 1000);
    if (issuedAtByState.size < maxStates) return;
    const times = [...issuedAtByState.values()].sort((a, b) => a - b);
    forget(times[Math.floor((times.length - 1) / 2)] ?? 0);
  }

  return {
    async useState({ id, issuedAtMs }) {
      if (issuedAtMs <= forgottenUntilMs || issuedAtByState.has(id)) return false;
      makeRoom();
      if (issuedAtMs <= forgottenUntilMs) return false;
      issuedAtByState.set(id, issuedAtMs);
      return true;
    },
    async countInstallation() {
      const day = formatInstallDay(now());
      if (today.day !== day) today = { day, installations: 0 };
      today.installations += 1;
      return today.installations <= maxPerDay;
    },
  };
}
