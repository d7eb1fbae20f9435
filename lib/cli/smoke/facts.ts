/** The findings of a smoke test, before it is compared with what the project assumes. */
import type { ExecutionKind } from "../../../lambdas/shared/config/stage-schema.ts";
import type { Found } from "../doctor/run-checks.ts";
import type { SmokeAlarm, WatchedMetric } from "./alarms.ts";
import type { StoryResult } from "./run-story.ts";

/** One stack as its account's CloudWatch shows it. `undefined` where the credentials may not look. */
export type ZoneFacts = {
  zone: "Verification" | "Execution";
  alarms: SmokeAlarm[];
  /**
   * Every metric that an alarm watches, and its sum since the beginning; undefined where there is no value. `isIdle`: AWS has no
   * values of it while nothing happens, and nothing has.
   */
  metrics: { metric: WatchedMetric; alarm: string; sum: number | undefined; isIdle: boolean }[];
  /** By log group: the names of its lines of level `error`. */
  errors: { group: string; lines: Map<string, number> }[];
};

export type SmokeFacts = {
  stageName: string;
  kind: ExecutionKind;
  region: string;
  stories: StoryResult[];
  wakes: number;
  /** The findings of `doctor`. */
  doctor: Found[];
  verification: ZoneFacts;
  /** A text says why it was not looked at. */
  execution: ZoneFacts | { skipped: string };
  /** The zone's own metrics, with the least that the tasks must have counted. */
  own: { metric: WatchedMetric; atLeast: number; sum: number | undefined }[];
  /** How many lines of the worker's and the entry's log name each task's request id. */
  lines: { requestId: string; count: number }[];
  /** Concurrent executions of Lambda that the account allows; undefined where one may not ask. */
  lambdaConcurrency: number | undefined;
};
