/** A task store that is linearizable per item, behind the faults of its engine. */
import type { TaskItem, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import type { Point } from "./faults.ts";
import { recordName } from "./names.ts";
import { operate } from "./operate.ts";
import { createSimRecords } from "./sim-records.ts";
import type { World } from "./world.ts";

const times = { usualMs: 5, giveUpMs: 3000, landMs: 5000 };
const outOfReach = () => new Error("the store is out of reach");
const failures = { refused: outOfReach, unknown: outOfReach };

/** `store` is what processes see, `records` is what is there. */
export function createSimStore<T extends TaskItem>({
  world,
  party,
  parse,
  onWritten = () => {},
}: {
  world: World;
  party: "store" | "tasks";
  parse: (json: unknown) => T;
  /** Sees every item that was stored. */
  onWritten?: (item: T) => void;
}): { store: TaskStore<T>; records: TaskStore<T> } {
  const { names } = world;
  const { peek, records } = createSimRecords({
    parse,
    onWritten(item, json) {
      world.leaks.see(json);
      onWritten(item);
    },
  });
  const at = <R>(name: "get" | "create" | "replace" | "list", about: () => string, effect: () => Promise<R>) => {
    // The Execution zone lists nothing.
    const point: Point = name === "list" ? "store.list" : `${party}.${name}`;
    return operate({ world, point, about, times, failures, effect });
  };

  return {
    records,
    store: {
      get: (request) =>
        at(
          "get",
          () => recordName({ names, id: request.id, item: peek(request.id) }),
          () => records.get(request),
        ),
      create: (request) =>
        at(
          "create",
          () => recordName({ names, id: request.item.id, item: request.item }),
          () => records.create(request),
        ),
      replace: (request) =>
        at(
          "replace",
          () => recordName({ names, id: request.item.id, item: request.item }),
          () => records.replace(request),
        ),
      list: (request) =>
        at(
          "list",
          () => `${request.index} ${request.key}`,
          () => records.list(request),
        ),
    },
  };
}
