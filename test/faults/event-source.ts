/** An event source between a queue and functions on AWS: gives batches to idle instances and removes the messages that they handled. */
import { createSqsRecord } from "../doubles/aws/sqs-event.ts";
import type { Instance, Pool } from "./pool.ts";
import { createProcess, kill, within } from "./processes.ts";
import type { Delivery, SimQueue } from "./sim-queue.ts";
import { later, worldMs } from "./virtual-time.ts";
import { meet, type World } from "./world.ts";

type Context = { getRemainingTimeInMillis(): number };
type BatchResponse = { batchItemFailures: { itemIdentifier: string }[] };

/** `event` is as Lambda passes it; the names of the deliveries are their message ids. */
export type Handler = (request: {
  event: unknown;
  context: Context;
  deliveries: ReadonlyMap<string, Delivery>;
}) => Promise<BatchResponse>;

/** `arn` is what Lambda says of where a record comes from. */
export type Source = { queue: SimQueue; name: "queue" | "push" | "work"; arn: string };

/** A message that is delivered again or later comes that much later. */
const meanwhileMs = 500;
const againMs = 10_000;
const laterMs = 30_000;

/** For as long as the world lasts. */
export function consume({
  world,
  queue,
  name,
  arn,
  pool,
  visibilityTimeoutMs,
  timeLimitMs,
}: Source & {
  world: World;
  pool: Pool<Handler>;
  visibilityTimeoutMs: number;
  /** Then the function is ended. */
  timeLimitMs: number;
}): void {
  const service = createProcess({ name: "SQS", zone: "slack", skewMs: 0 });

  function pump(): void {
    for (;;) {
      if (!queue.isDue()) return;
      const instance = pool.find({ mayShare: false });
      if (instance === undefined) return;
      const deliveries = queue
        .take({ max: world.isRestless ? 3 : 1, visibilityTimeoutMs })
        .filter(isDelivered);
      if (deliveries.length > 0) invoke(instance, deliveries);
    }
  }

  function isDelivered(delivery: Delivery): boolean {
    const { body, group, attributes } = delivery.message;
    const { fate } = meet({
      world,
      process: service,
      point: `${name}.deliver`,
      about: () => queue.describe(delivery.message),
    });
    if (fate === "repeated") queue.put({ body, group, attributes });
    if (fate === "again") queue.put({ body, group, attributes, delayMs: meanwhileMs });
    if (fate === "overtaken") queue.hideFor({ delivery, ms: laterMs });
    return fate !== "overtaken";
  }

  function invoke(instance: Instance<Handler>, deliveries: readonly Delivery[]): void {
    const endsAtMs = worldMs() + timeLimitMs;
    const named = new Map(
      deliveries.map((delivery, index) => [`m-${delivery.message.number}-${index}`, delivery]),
    );
    const context = { getRemainingTimeInMillis: () => endsAtMs - worldMs() };
    const event = { Records: [...named].map(([id, delivery]) => recordOf({ id, delivery, arn })) };
    const limit = later({ delayMs: timeLimitMs, run: () => kill(instance.process) });
    instance.isBusy = true;
    within({
      process: instance.process,
      run: () => instance.work({ event, context, deliveries: named }),
    })
      .then(
        ({ batchItemFailures }) =>
          new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)),
        () => new Set(named.keys()),
      )
      .then((failures) => {
        limit.cancel();
        for (const [id, delivery] of named) if (!failures.has(id)) finish(delivery);
        pool.free(instance);
      })
      .catch(() => {});
  }

  function finish(delivery: Delivery): void {
    const { body, group, attributes } = delivery.message;
    const { fate } = meet({
      world,
      process: service,
      point: `${name}.finish`,
      about: () => queue.describe(delivery.message),
    });
    if (fate === "lost") return;
    queue.remove(delivery);
    if (fate === "repeated") queue.put({ body, group, attributes, delayMs: againMs });
  }

  queue.listen(pump);
  pool.listen(pump);
}

/** As Lambda names the fields of a message from SQS. */
function recordOf({
  id,
  delivery: { message, receiveCount },
  arn,
}: {
  id: string;
  delivery: Delivery;
  arn: string;
}) {
  const { body, group, attributes } = message;
  const due = attributes.DueAtMs ?? {};
  const dueAtMs = "StringValue" in due ? due.StringValue : undefined;
  const dueAt = dueAtMs === undefined ? undefined : Number(dueAtMs);
  return createSqsRecord(body, {
    messageId: id,
    receiptHandle: id,
    arn,
    receiveCount,
    group,
    dueAtMs: dueAt,
  });
}
