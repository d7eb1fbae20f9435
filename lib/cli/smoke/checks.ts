/** Checks the facts of a smoke test against what a healthy stage shows. */
import type { ExecutionKind } from "../../../lambdas/shared/config/stage-schema.ts";
import type { Found } from "../doctor/check.ts";
import type { SmokeAlarm, WatchedMetric } from "./cloudwatch.ts";
import type { StoryResult } from "./run-story.ts";

/** One stack as CloudWatch in its account shows it. */
export type ZoneFacts = {
  zone: "Verification" | "Execution";
  alarms: SmokeAlarm[];
  /**
   * Every metric that an alarm watches. `sum` is undefined where it has no value. `isIdle`: AWS writes no value of it while
   * nothing happens, and nothing has.
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
  doctor: Found[];
  verification: ZoneFacts;
  execution: ZoneFacts | { skipped: string };
  /** The Verification zone's own metrics, with the least that the tasks must have counted. */
  own: { metric: WatchedMetric; atLeast: number; sum: number | undefined }[];
  /** Counts the log lines of the Verification zone that name each task's request id. */
  lines: { requestId: string; count: number }[];
  /** The concurrent Lambda executions that the account allows. Undefined where the credentials may not ask. */
  lambdaConcurrency: number | undefined;
};

export type SmokeCheck = { name: string; ok: boolean; what: string };

/** These metrics have a value only once something rare has happened. */
const rare = /^(RecursiveInvocationsDropped$|ApproximateNumberOfMessagesNotVisible$|sekisho_)/;

export function checkFacts(facts: SmokeFacts): SmokeCheck[] {
  const { stories, verification, execution, own, lines, doctor } = facts;
  const zones = "skipped" in execution ? [verification] : [verification, execution];
  const missed = own.filter(({ sum = 0, atLeast }) => sum < atLeast);
  const unnamed = lines.filter(({ count }) => count === 0).map(({ requestId }) => requestId);
  const lineCount = lines.reduce((sum, { count }) => sum + count, 0);
  const wrong = doctor.filter(
    ({ status, name }) => status === "failed" || (name === "dead letters" && status !== "ok"),
  );
  return [
    ...stories.map(({ story, ok, what }) => ({ name: `task: ${story}`, ok, what })),
    ...zones.flatMap((zone) => [checkAlarms(zone), checkMetrics(zone, zones), checkErrors(zone)]),
    ...("skipped" in execution
      ? [{ name: "Execution zone", ok: true, what: `not looked at: ${execution.skipped}` }]
      : []),
    toCheck(
      "metrics of the zone's own",
      missed
        .map(
          ({ metric, sum = 0, atLeast }) =>
            `${metricText(metric)} is ${sum}, and should be ${atLeast}`,
        )
        .join("; "),
      own.map(({ metric, sum }) => `${metric.name} ${sum}`).join(", "),
    ),
    toCheck(
      "log lines by request id",
      unnamed.length === 0 ? "" : `no line names ${unnamed.join(", ")}`,
      `${lineCount} lines name the ${lines.length} tasks`,
    ),
    toCheck(
      "doctor",
      wrong.map(({ name, what }) => `${name}: ${what}`).join(" "),
      "nothing failed, no dead letters",
    ),
  ];
}

/** A check that passes where there is no problem. */
function toCheck(name: string, problem: string, otherwise: string): SmokeCheck {
  return problem === "" ? { name, ok: true, what: otherwise } : { name, ok: false, what: problem };
}

function checkAlarms({ zone, alarms }: ZoneFacts): SmokeCheck {
  const bad = alarms.filter(({ state }) => state === "ALARM" || state === "missing");
  const problem = bad.map(({ name, state }) => `${name} is ${state}`).join(", ");
  return toCheck(
    `alarms: ${zone}`,
    alarms.length === 0 ? "the stack has no alarms" : problem,
    `all ${alarms.length} are there, and none is in ALARM`,
  );
}

export function checkMetrics(
  { zone, metrics }: ZoneFacts,
  zones: readonly ZoneFacts[],
): SmokeCheck {
  const name = `metrics that alarms watch: ${zone}`;
  if (metrics.length > 0 && metrics.every(({ sum }) => sum === undefined)) {
    return { name, ok: false, what: "none has data" };
  }
  const others = zones.filter((other) => other.zone !== zone);
  const silent = metrics.filter(
    ({ metric, sum, isIdle }) =>
      sum === undefined &&
      !isIdle &&
      !rare.test(metric.name) &&
      !isCountedElsewhere(metric, others),
  );
  const named = silent.map(({ alarm, metric }) => `${alarm}: ${metricText(metric)}`).join("; ");
  return toCheck(
    name,
    named === "" ? "" : `no data, so the alarm cannot fire: ${named}`,
    `${metrics.length} have data, or are of what did not happen`,
  );
}

function checkErrors({ zone, errors }: ZoneFacts): SmokeCheck {
  const found = errors.flatMap(({ group, lines }) =>
    [...lines].map(([line, count]) => `${line} (${count}) in ${group}`),
  );
  // A stack from before the log group of the AgentCore runtime was part of it has none.
  const none = "not looked at: the stack has no log groups of its own";
  return toCheck(
    `log lines of errors: ${zone}`,
    found.join(", "),
    errors.length === 0 ? none : `none in ${errors.length} log groups`,
  );
}

/**
 * AWS does not say for every platform version whether AgentCore counts a call from another account in the caller's account or
 * in the runtime's. Both have alarms, and one of them has no data. An account that was not looked at may have it.
 */
function isCountedElsewhere(metric: WatchedMetric, others: readonly ZoneFacts[]): boolean {
  return isOfAgentCore(metric) && (others.length === 0 || hasData(metric, others));
}

export function isOfAgentCore({ namespace }: WatchedMetric): boolean {
  return namespace === "AWS/Bedrock-AgentCore";
}

export function hasData(metric: WatchedMetric, zones: readonly ZoneFacts[]): boolean {
  const text = metricText(metric);
  return zones.some(({ metrics }) =>
    metrics.some((each) => each.sum !== undefined && metricText(each.metric) === text),
  );
}

export function metricText({ namespace, name, dimensions }: WatchedMetric): string {
  const named = Object.entries(dimensions).map(([key, value]) => `${key}=${value}`);
  return `${namespace} ${name} {${named.join(", ")}}`;
}
