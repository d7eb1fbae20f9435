/** Waits for what a story awaits, and says what there was instead. */
import { setTimeout as wait } from "node:timers/promises";

const lookEveryMs = 20;

/** Resolves to what `look` finds; rejects with what `seen` tells when it has found nothing for `patienceMs`. */
export async function until<T>(
  look: () => T | undefined | false,
  { seen = () => "", patienceMs = 20_000 }: { seen?: () => string; patienceMs?: number } = {},
): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > endMs) throw new Error(`It did not come. There was: ${seen()}`);
    await wait(lookEveryMs);
  }
}
