/** Items past their time are not only no longer shown: they leave the file, also where nobody writes anything new. */
import type { Database } from "./database.ts";

/** At each look: a transaction stays short. */
const removedPerLook = 1000;

/**
 * Looks again and again until `stop` is called; the process of one command is over before the first look. One that meets the
 * lock of another process, or a full disk, is made up for by the next.
 */
export function removeExpiredTasks({
  database: { prepare, write },
  now = Date.now,
  everyMs = 60_000,
}: {
  database: Pick<Database, "prepare" | "write">;
  now?: () => number;
  everyMs?: number;
}): { stop(): void } {
  const anyExpired = prepare("SELECT 1 FROM tasks WHERE expires_at_ms <= ? LIMIT 1");
  const remove = prepare(
    `DELETE FROM tasks WHERE seq IN
     (SELECT seq FROM tasks WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ${removedPerLook})`,
  );
  async function look(): Promise<void> {
    const nowMs = now();
    if (anyExpired.get(nowMs) !== undefined) await write(() => remove.run(nowMs));
  }
  const timer = setInterval(() => look().catch(() => {}), everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
