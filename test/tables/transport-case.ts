/** A conformance case of transports, and what each transport provides for it. */
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import type { TapEntry } from "@sekisho/verification/transport/tap.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import type { PeerCall, Script } from "../doubles/execution-peer.ts";

/** Features that some transports lack. */
export type Feature = "http-status" | "connection" | "extra-fields" | "response-ids";

export type CaseRun = {
  client: ExecutionClient;
  /** `execute_task` of a small task with a fresh id, unless `over` says otherwise. */
  execute(over?: {
    id?: string;
    text?: string;
    timeoutMs?: number;
    signal?: AbortSignal;
  }): Promise<unknown>;
  /** The calls that the peer has received so far. */
  calls: readonly PeerCall[];
  /** The pauses of the runner in milliseconds. None takes real time. */
  pauses: readonly number[];
  taps: readonly TapEntry[];
};

export type TransportCase = {
  name: string;
  needs?: readonly Feature[];
  script: Script;
  idempotent?: boolean;
  maxResponseBytes?: number;
  /** Nobody listens at the transport's address. */
  unreachable?: boolean;
  check: (run: CaseRun) => Promise<void>;
};

export type TransportUnderTest = {
  name: string;
  /** The dialect of the peer's errors. `zone` where absent. */
  dialect?: Dialect;
  /** Features that it lacks, each with the reason. Only this declaration leaves out the cases that need one. */
  unsupported: Partial<Record<Feature, string>>;
  open(request: { script: Script; maxResponseBytes: number; unreachable: boolean }): Promise<{
    transport: Transport;
    calls: readonly PeerCall[];
    close(): Promise<void>;
  }>;
};
