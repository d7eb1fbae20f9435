/** The two engines as the simulation sees them: which faults their parties can have, and which processes there are. */
import { embeddedFaults, type FaultTable, remoteFaults } from "./faults.ts";

export const engineNames = ["sqlite", "aws"] as const;
export type EngineName = (typeof engineNames)[number];

export type Engine = {
  name: EngineName;
  faults: FaultTable;
  /** One process per zone, which does everything and dies as a whole; otherwise functions, each with instances of its own. */
  isOneProcess: boolean;
  /** Messages come in order and at their time, one at a time to one receiver. */
  isOrdered: boolean;
};

export const engines: Record<EngineName, Engine> = {
  sqlite: { name: "sqlite", faults: embeddedFaults, isOneProcess: true, isOrdered: true },
  aws: { name: "aws", faults: remoteFaults, isOneProcess: false, isOrdered: false },
};
