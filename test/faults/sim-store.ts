/** A task store that is linearizable per item, behind the faults of its engine. */
import type { TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type Codec, createRecords, shareItems } from "../world/records.ts";
import type { Point } from "./faults.ts";
import { recordName } from "./names.ts";
import { operate } from "./operate.ts";
import { noteLosses } from "./versions/kept.ts";
import type { Product } from "./versions/mix.ts";
import { worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

const times = { usualMs: 5, giveUpMs: 3000, landMs: 5000 };
const outOfReach = () => new Error("the store is out of reach");
const failures = { refused: outOfReach, unknown: outOfReach };

/** `storeFor` is what processes of a version see, `recordsFor` is what is there. */
export function createSimStore<T extends TaskItem>({
  world,
  party,
  name,
  onWritten = () => {},
}: {
  world: World;
  party: "store" | "tasks";
  /** Its name in a recorded moment. */
  name: string;
  /** Sees every item that was stored. */
  onWritten?: (item: T) => void;
}): { storeFor: (codec: Codec<T>) => TaskStore<T>; recordsFor: (codec: Codec<T>) => TaskStore<T> } {
  const { names } = world;
  const records = createRecords<T>({
    now: worldMs,
    onWritten(item, json, oldValue) {
      world.leaks.see(json);
      noteLosses({ world, json, before: oldValue });
      onWritten(item);
      world.onWritten(name, json);
    },
    stored: world.from?.stores[name],
  });
  world.stores.set(name, records.texts);
  const at = <R>(
    name: "get" | "create" | "replace" | "list",
    about: () => string,
    effect: () => Promise<R>,
  ) => {
    // The Execution zone lists nothing.
    const point: Point = name === "list" ? "store.list" : `${party}.${name}`;
    return operate({ world, point, about, times, failures, effect });
  };

  function storeFor(codec: Codec<T>): TaskStore<T> {
    const store = records.storeFor(codec);
    return {
      get: (request) =>
        at(
          "get",
          () => recordName({ names, id: request.id, item: records.peek(request.id) }),
          () => store.get(request),
        ),
      create: (request) =>
        at(
          "create",
          () => recordName({ names, id: request.item.id, item: request.item }),
          () => store.create(request),
        ),
      replace: (request) =>
        at(
          "replace",
          () => recordName({ names, id: request.item.id, item: request.item }),
          () => store.replace(request),
        ),
      list: (request) =>
        at(
          "list",
          () => `${request.index} ${request.key}`,
          () => store.list(request),
        ),
    };
  }

  return { storeFor, recordsFor: records.storeFor };
}

/** How a version of the product reads and writes the records that `parse` knows. */
export function codecOf<T extends TaskItem>({
  product,
  parse,
}: {
  product: Product;
  parse: (json: unknown) => T;
}): Codec<T> {
  return shareItems<T>({
    write: product.writeItem,
    read: (text) => product.readItem({ text, parse }),
  });
}
