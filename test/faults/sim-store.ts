/** A task store that is linearizable per item, behind the faults of its engine. */
import type { TaskItem, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import type { Point } from "./faults.ts";
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
  const records = createSimRecords({
    parse,
    onWritten(item, json) {
      world.leaks.see(json);
      onWritten(item);
    },
  });
  const at = <R>(name: "get" | "create" | "replace" | "list", note: () => string, effect: () => Promise<R>) => {
    // The Execution zone lists nothing.
    const point: Point = name === "list" ? "store.list" : `${party}.${name}`;
    return operate({ world, point, note, times, failures, effect });
  };

  return {
    records,
    store: {
      get: (request) =>
        at(
          "get",
          () => short(request.id),
          () => records.get(request),
        ),
      create: (request) =>
        at(
          "create",
          () => describe(request.item),
          () => records.create(request),
        ),
      replace: (request) =>
        at(
          "replace",
          () => describe(request.item),
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

function describe(item: TaskItem): string {
  const isHeld = "lease" in item && item.lease !== undefined;
  return `${short(item.id)} ${item.state}${isHeld ? " with lease" : ""} at revision ${item.revision}`;
}

function short(id: string): string {
  return id.length > 30 ? id.slice(0, 8) : id;
}
