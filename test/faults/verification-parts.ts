/** The parts of the processes of the Verification zone, for any number of processes. */
import type { Config } from "@sekisho/config/schema.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import type { Worker } from "@sekisho/verification/worker/worker.ts";
import type { SimQueue } from "./sim-queue.ts";
import type { World } from "./world.ts";

export type ZoneParts = {
  world: World;
  config: Config;
  skewMs: number;
  log: Log;
  queue: SimQueue;
  deadLetters: SimQueue;
  completions: SimQueue;
  /** Each with an empty memory. */
  bootWorker: () => Worker;
  bootIngress: () => Ingress;
};
