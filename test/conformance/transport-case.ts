/** What a conformance case of transports is, and what each transport brings to it. */
import type { Dialect } from "../../contracts/dialects.ts";
import type { ExecutionClient } from "../../lambdas/verification/transport/runner.ts";
import type { TapEntry } from "../../lambdas/verification/transport/tap.ts";
import type { Transport } from "../../lambdas/verification/transport/transport.ts";
import type { PeerCall, Script } from "../doubles/execution-peer.ts";

/** What not every transport can do. */
export type Feature = "http-status" | "connection" | "extra-fields";

export type CaseRun = {
  client: ExecutionClient;
  /** `execute_task` of a small task with a fresh id, unless `over` says otherwise. */
  execute(over?: { id?: string; text?: string; timeoutMs?: number; signal?: AbortSignal }): Promise<unknown>;
  /** What the peer has received until now. */
  calls: readonly PeerCall[];
  /** The pauses that the runner made, in milliseconds; none really took time. */
  pauses: readonly number[];
  taps: readonly TapEntry[];
};

export type TransportCase = {
  name: string;
  needs?: readonly Feature[];
  script: Script;
  idempotent?: boolean;
  maxResponseBytes?: number;
  /** Nobody listens where the transport connects to. */
  unreachable?: boolean;
  check: (run: CaseRun) => Promise<void>;
};

export type TransportUnderTest = {
  name: string;
  /** How the peer says its errors; `zone` where absent. */
  dialect?: Dialect;
  /** Features that it lacks, each with the reason. A case that needs one of them is left out by this declaration alone. */
  unsupported: Partial<Record<Feature, string>>;
  open(request: { script: Script; maxResponseBytes: number; unreachable: boolean }): Promise<{
    transport: Transport;
    calls: readonly PeerCall[];
    close(): Promise<void>;
  }>;
};
