/** The two engines as the simulation sees them: which faults their parties can have, and which processes there are. */
import { embeddedFaults, type FaultTable, remoteFaults } from "./faults.ts";

export const engineNames = ["sqlite", "aws"] as const;
export type EngineName = (typeof engineNames)[number];

export type Engine = {
  name: EngineName;
  faults: FaultTable;
  /** One process per zone, which does everything and dies as a whole; otherwise functions, each with instances of its own. */
  isOneProcess: boolean;
  /** Hosts run no agents; they put the ids of tasks into a queue. */
  isWorkQueued: boolean;
  /** Messages come in order and at their time, one at a time to one receiver. */
  isOrdered: boolean;
};

const engines: Record<EngineName, Engine> = {
  sqlite: {
    name: "sqlite",
    faults: embeddedFaults,
    isOneProcess: true,
    isWorkQueued: false,
    isOrdered: true,
  },
  aws: {
    name: "aws",
    faults: remoteFaults,
    isOneProcess: false,
    isWorkQueued: true,
    isOrdered: false,
  },
};

/**
 * A peer that does not deduplicate would run twice what the network brings it twice, and what it did although it says that
 * it did not: neither is ours to prevent. Where sessions have an age, hosts run the agents themselves.
 */
export function engineFor({
  name,
  isForeign,
  isSessionOld = false,
}: {
  name: EngineName;
  isForeign: boolean;
  isSessionOld?: boolean | undefined;
}): Engine {
  const engine = isSessionOld ? { ...engines[name], isWorkQueued: false } : engines[name];
  if (!isForeign) return engine;
  const { "tasks.get": get, "tasks.create": create, "tasks.replace": replace } = embeddedFaults;
  const faults = {
    ...engine.faults,
    "transport.request": engine.faults["transport.request"].filter((kind) => kind !== "repeated"),
    "tasks.get": get,
    "tasks.create": create,
    "tasks.replace": replace,
  };
  return { ...engine, faults, isWorkQueued: false };
}
