/** Compares what a smoke test found with what is expected of a healthy stage, and with what the project assumes of AWS. */

import type { WatchedMetric } from "./alarms.ts";
import type { SmokeFacts, ZoneFacts } from "./facts.ts";

/** `failed` is a finding that a healthy stage does not have. */
export type SmokeCheck = { name: string; ok: boolean; what: string };

/** `differs`: what was observed is not what was assumed. `undefined`: this stage cannot show it. */
export type AssumptionCheck = {
  point: string;
  assumed: string;
  observed: string;
  differs: boolean | undefined;
  todo: string;
};

/** Metrics that have a value only once something rare has happened, or that AWS writes only then. */
const rare: readonly RegExp[] = [
  /^RecursiveInvocationsDropped$/,
  /^ApproximateNumberOfMessagesNotVisible$/,
  /^sekisho_/,
];

export function checkFacts(facts: SmokeFacts): SmokeCheck[] {
  const { stories, verification, execution, own, lines } = facts;
  const zones = [verification, ...("skipped" in execution ? [] : [execution])];
  return [
    ...stories.map(({ story, ok, what }) => ({ name: `task: ${story}`, ok, what })),
    ...zones.flatMap((zone) => [alarmsCheck(zone), metricsCheck({ zone, zones }), errorsCheck(zone)]),
    ...("skipped" in execution
      ? [{ name: "Execution zone", ok: true, what: `not looked at: ${execution.skipped}` }]
      : []),
    ownCheck(own),
    linesCheck(lines),
    doctorCheck(facts),
  ];
}

function alarmsCheck({ zone, alarms }: ZoneFacts): SmokeCheck {
  const name = `alarms: ${zone}`;
  const bad = alarms.filter(({ state }) => state === "ALARM" || state === "missing");
  if (alarms.length === 0) return { name, ok: false, what: "the stack has no alarms" };
  if (bad.length === 0) return { name, ok: true, what: `all ${alarms.length} are there, and none is in ALARM` };
  return { name, ok: false, what: bad.map((alarm) => `${alarm.name} is ${alarm.state}`).join(", ") };
}

function metricsCheck({ zone: { zone, metrics }, zones }: { zone: ZoneFacts; zones: ZoneFacts[] }): SmokeCheck {
  const name = `metrics that alarms watch: ${zone}`;
  const silent = metrics.filter(
    ({ metric, sum, isIdle }) =>
      sum === undefined && !isIdle && !isRare(metric) && !isCountedElsewhere({ metric, zone, zones }),
  );
  const known = metrics.length - silent.length;
  if (metrics.length > 0 && metrics.every(({ sum }) => sum === undefined))
    return { name, ok: false, what: "none has data" };
  if (silent.length === 0) return { name, ok: true, what: `${known} have data, or are of what did not happen` };
  const named = silent.map(({ alarm, metric }) => `${alarm}: ${metricText(metric)}`).join("; ");
  return { name, ok: false, what: `no data, so the alarm hears of nothing: ${named}` };
}

function errorsCheck({ zone, errors }: ZoneFacts): SmokeCheck {
  const name = `log lines of errors: ${zone}`;
  // AgentCore itself makes the log group of a runtime, so the stack of the Execution zone has none.
  if (errors.length === 0) return { name, ok: true, what: "not looked at: the stack has no log groups of its own" };
  const found = errors.flatMap(({ group, lines }) =>
    [...lines].map(([line, count]) => `${line} (${count}) in ${group}`),
  );
  return found.length === 0
    ? { name, ok: true, what: `none in ${errors.length} log groups` }
    : { name, ok: false, what: found.join(", ") };
}

function ownCheck(own: SmokeFacts["own"]): SmokeCheck {
  const short = own.filter(({ sum = 0, atLeast }) => sum < atLeast);
  const name = "metrics of the zone's own";
  const what = short.map(
    ({ metric, sum = 0, atLeast }) => `${metricText(metric)} is ${sum}, and ought to be ${atLeast}`,
  );
  return short.length === 0
    ? { name, ok: true, what: own.map(({ metric, sum }) => `${metric.name} ${sum}`).join(", ") }
    : { name, ok: false, what: what.join("; ") };
}

function linesCheck(lines: SmokeFacts["lines"]): SmokeCheck {
  const name = "log lines by request id";
  const without = lines.filter(({ count }) => count === 0).map(({ requestId }) => requestId);
  const total = lines.reduce((sum, { count }) => sum + count, 0);
  return without.length === 0
    ? { name, ok: true, what: `${total} lines name the ${lines.length} tasks` }
    : { name, ok: false, what: `no line names ${without.join(", ")}` };
}

function doctorCheck({ doctor }: SmokeFacts): SmokeCheck {
  const bad = doctor.filter(({ status, name }) => status === "failed" || (name === "dead letters" && status !== "ok"));
  const what = bad.map((each) => `${each.name}: ${each.what}`).join(" ");
  return { name: "doctor", ok: bad.length === 0, what: bad.length === 0 ? "nothing failed, no dead letters" : what };
}

/**
 * AWS does not say for every platform version whether AgentCore counts a call from another account there or in the account of
 * the runtime. Both have alarms, of which one has no data. An account that was not looked at may be the one that has.
 */
function isCountedElsewhere(found: { metric: WatchedMetric; zone: string; zones: ZoneFacts[] }): boolean {
  if (!isOfAgentCore(found.metric)) return false;
  const others = found.zones.filter(({ zone }) => zone !== found.zone);
  return others.length === 0 || hasData({ metric: found.metric, zones: others });
}

export function isOfAgentCore({ namespace }: WatchedMetric): boolean {
  return namespace === "AWS/Bedrock-AgentCore";
}

/** Whether one of the accounts has data of the metric. */
export function hasData({ metric, zones }: { metric: WatchedMetric; zones: readonly ZoneFacts[] }): boolean {
  const text = metricText(metric);
  return zones.some(({ metrics }) =>
    metrics.some((each) => each.sum !== undefined && metricText(each.metric) === text),
  );
}

function isRare({ name }: WatchedMetric): boolean {
  return rare.some((pattern) => pattern.test(name));
}

export function metricText({ namespace, name, dimensions }: WatchedMetric): string {
  const named = Object.entries(dimensions).map(([key, value]) => `${key}=${value}`);
  return `${namespace} ${name} {${named.join(", ")}}`;
}
