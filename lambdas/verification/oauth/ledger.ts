/** The memory of the installation flow between requests: which states were used, and how many installations there were today. */
import { installSeconds } from "./state.ts";

export type InstallLedger = {
  /** True at most once for the state of each id: false when it was used before, and when the ledger can no longer tell. */
  useState(request: { id: string; issuedAtMs: number }): Promise<boolean>;
  /** Counts one installation; false where the day has no more. */
  countInstallation(): Promise<boolean>;
};

export const defaultMaxInstallsPerDay = 50;

/** UTC, such as 2026-11-22. */
export function formatInstallDay(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

/**
 * Remembers up to `maxStates` used states. When that is full, it forgets the older half and refuses every state that was issued
 * no later than those: whoever uses up many states cannot keep others from installing, and no state counts twice.
 */
export function createMemoryLedger({
  maxPerDay = defaultMaxInstallsPerDay,
  maxStates = 100_000,
  now = Date.now,
}: {
  maxPerDay?: number | undefined;
  maxStates?: number;
  now?: () => number;
} = {}): InstallLedger {
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
    // Expired states are refused before they get here.
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
