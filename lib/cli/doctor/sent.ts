/** The checks of a stage after `--send`: its tasks, and what CloudWatch has of them. */
import { type Finding, failed, ok, skipped } from "./check.ts";
import type { Metric } from "./cloudwatch.ts";
import type { StoryName } from "./stories.ts";
import type { Sent } from "./targets.ts";

type Facts = Omit<Sent, "target">;

export function checkStory({ stories }: Facts, name: StoryName): Finding {
  const result = stories.get(name);
  if (result === undefined) return skipped("It was not sent.");
  return result.ok ? ok(result.what) : failed(`${result.what} Its id is ${result.requestId}.`);
}

export function checkAlarms({ zones, unseen = "" }: Facts): Finding {
  const empty = zones.filter(({ alarms }) => alarms.length === 0).map(({ zone }) => zone);
  if (empty.length > 0) return failed(`There are no alarms of the ${empty.join(" and ")} zone.`);
  const alarms = zones.flatMap((zone) => zone.alarms);
  const problems = alarms.filter(({ state }) => state === "ALARM" || state === "missing");
  if (problems.length > 0)
    return failed(`${problems.map(({ name, state }) => `${name} is ${state}`).join(", ")}.`);
  return ok(`All ${alarms.length} are there, and none is in ALARM. ${unseen}`.trim());
}

/** An alarm on a metric without data cannot fire. The names and dimensions of AWS's other metrics come from the CDK. */
export function checkAgentCoreMetrics(facts: Facts): Finding {
  const silent = listSilent(facts).join("; ");
  if (silent === "") return ok("Those that alarms watch have data.");
  // The account of the Execution zone, which nobody looked at, may have it.
  if (facts.unseen !== undefined) return skipped(`There is no data for ${silent}. ${facts.unseen}`);
  return failed(`No data, so the alarm cannot fire: ${silent}.`);
}

/** AWS does not say whether AgentCore counts a call from another account in that account or in its own, so one is enough. */
function listSilent({ zones }: Facts): string[] {
  const all = zones.flatMap(({ agentCore }) => agentCore);
  const seen = all.filter(({ sum }) => sum !== undefined).map(formatMetric);
  return [...new Set(all.map(formatMetric))].filter((metric) => !seen.includes(metric));
}

function formatMetric({ namespace, name, dimensions }: Metric): string {
  const named = Object.entries(dimensions).map(([key, value]) => `${key}=${value}`);
  return `${namespace} ${name} {${named.join(", ")}}`;
}

export function checkOwnMetrics({ ownMetrics, stories }: Facts): Finding {
  if (ownMetrics.length === 0) return skipped("telemetry.metrics is off.");
  const counts = ownMetrics.map(({ name, sum = 0 }) => `${name} is ${sum}`).join(", ");
  return ownMetrics.every(({ sum = 0 }) => sum >= stories.size)
    ? ok(`${counts}.`)
    : failed(`${counts}, and each should be at least ${stories.size}.`);
}

export function checkLines({ lineCounts }: Facts): Finding {
  const missing = [...lineCounts].filter(([, count]) => count === 0).map(([id]) => id);
  if (missing.length > 0) return failed(`No log line names ${missing.join(", ")}.`);
  return ok(`Log lines name each of the ${lineCounts.size} tasks.`);
}

export function checkErrorLines({ zones }: Facts): Finding {
  const errors = zones.flatMap((zone) => [...zone.errors]);
  if (errors.length > 0)
    return failed(`${errors.map(([line, count]) => `${line} (${count})`).join(", ")}.`);
  const { length } = zones.flatMap(({ logGroups }) => logGroups);
  return length === 0 ? skipped("The stacks have no log groups.") : ok(`None in ${length} groups.`);
}

/** True if what arrives late at CloudWatch has arrived. */
export function isSettled(facts: Facts): boolean {
  const late = [checkAgentCoreMetrics, checkOwnMetrics, checkLines];
  return late.every((check) => check(facts).status !== "failed");
}
