/** How many operations a run may take. More is a storm. */
import type { World } from "./world.ts";

/**
 * So many times the operations of a run without faults, and for each fault so many more. A fault can cost the early copies of a wake-up
 * during one lease (11, four operations each), or the polls of a task until the host counts it as lost (14, nine operations each). A task
 * that waits is polled twice a minute at most while it tells nothing, however long that takes.
 */
const factor = 2;
const perFault = 130;
const perMinute = 30;

/** Each copy of a message that waits for a newer version is delivered, reads its record, is sent again and finished. */
const perCopy = 4;

export function excessOperations({
  world,
  usualOperations,
}: {
  world: World;
  usualOperations: number;
}) {
  const { steps, messagesLeft } = world;
  const minutes = ((steps.at(-1)?.atMs ?? 0) - (steps[0]?.atMs ?? 0)) / 60_000;
  const copies = [...messagesLeft.values()].reduce((sum, { copies }) => sum + copies, 0);
  const most =
    factor * usualOperations + perFault * faultsIn(world) + perMinute * minutes + perCopy * copies;
  return steps.length > most
    ? `${steps.length} operations, where ${usualOperations} are usual`
    : undefined;
}

/** An outage meets many operations, and their failures have one cause. */
function faultsIn({ steps, outages }: World): number {
  return (
    steps.filter(({ fate, isOutage }) => fate !== undefined && !isOutage).length + outages.length
  );
}

/** Copies that clocks 56 s apart add: so long a wait may not be seen. */
const copiesOfSkew = 12;

/** A message left to a newer version that was copied too often. A fault can double it, and each of the two is then copied. */
export function excessCopies(world: World): string | undefined {
  for (const { leftMs, copies, dueMs } of world.messagesLeft.values()) {
    const most =
      (1 + faultsIn(world)) * copiesIn(dueMs - leftMs) + (world.isRestless ? copiesOfSkew : 0);
    if (copies > most) return `${copies} copies in ${dueMs - leftMs} ms`;
  }
  return undefined;
}

/** The next copy comes after a tenth of the time waited, from 5 s to 5 minutes. */
function copiesIn(waitedMs: number): number {
  let count = 0;
  for (let atMs = 0; atMs < waitedMs; count += 1)
    atMs += Math.min(Math.max(atMs / 10, 5000), 300_000);
  return count;
}
