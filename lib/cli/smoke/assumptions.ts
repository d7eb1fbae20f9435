/** Compares what the project assumes of AWS, without having seen it on an account, with what a stage shows. */

import { type AssumptionCheck, hasData, isOfAgentCore, metricText } from "./checks.ts";
import type { SmokeFacts } from "./facts.ts";

export function checkAssumptions(facts: SmokeFacts): AssumptionCheck[] {
  return [
    availability(facts),
    loopDetection(facts),
    runtimeMetrics(facts),
    concurrentInvokes(facts),
    policies(facts),
    creation(facts),
    concurrency(facts),
    {
      point: "errors of the AgentCore platform in A2A mode",
      assumed: "they carry x-amzn-ErrorType, as in HTTP mode",
      ...createHiddenResult(
        "A stage's runtime speaks HTTP mode, and the platform's errors cannot be caused from here.",
      ),
    },
    {
      point: "a token of GetWebIdentityToken at a runtime with an inbound JWT authorizer",
      assumed: "it is accepted",
      ...createHiddenResult("A stage's runtime is called with SigV4."),
    },
    {
      point: "durable functions in the region",
      assumed: "not needed",
      ...createHiddenResult("Sekisho uses none."),
    },
    {
      point: "prices",
      assumed: "as npx sekisho cost has them",
      ...createHiddenResult("Cost Explorer shows them a day later: compare it with npx sekisho cost."),
    },
  ];
}

function createHiddenResult(observed: string): Pick<AssumptionCheck, "observed" | "differs" | "todo"> {
  return { observed: `Not shown by this stage. ${observed}`, differs: undefined, todo: "" };
}

function countPolledStories({ stories }: SmokeFacts): number {
  return stories.filter(({ polls }) => polls > 0).length;
}

function availability(facts: SmokeFacts): AssumptionCheck {
  const { kind, region } = facts;
  const point = "AgentCore Runtime in the region";
  const assumed = "it is available";
  if (kind !== "agentcore") return { point, assumed, ...createHiddenResult(`Its Execution zone is of kind ${kind}.`) };
  const count = countPolledStories(facts);
  return {
    point,
    assumed,
    observed: `${count} tasks were accepted by the runtime (${region})`,
    differs: count === 0,
    todo: count === 0 ? "Look at doctor's destinations; choose another region, or the kind lambda." : "",
  };
}

function loopDetection({ stories, wakes, verification }: SmokeFacts): AssumptionCheck {
  const polls = stories.find(({ story }) => story === "wakes")?.polls ?? 0;
  const dropped = verification.metrics
    .filter(({ metric }) => metric.name === "RecursiveInvocationsDropped")
    .reduce((sum, { sum: value = 0 }) => sum + value, 0);
  const differs = polls <= wakes || dropped > 0;
  return {
    point: "loop detection of Lambda",
    assumed: `RecursiveLoop: Allow lets a task wake itself more than ${wakes} times`,
    observed: `${polls} wake-ups, ${dropped} invocations dropped`,
    differs,
    todo: differs ? "Look at the alarms LoopStopped, and at RecursiveLoop of the worker's function." : "",
  };
}

function runtimeMetrics({ kind, execution, verification }: SmokeFacts): AssumptionCheck {
  const point = "names, dimensions and account of AgentCore's metrics";
  const assumed = "those that the alarms watch, in the account of the runtime or of the caller";
  if (kind !== "agentcore") return { point, assumed, ...createHiddenResult(`Its Execution zone is of kind ${kind}.`) };
  if ("skipped" in execution) return { point, assumed, ...createHiddenResult(execution.skipped) };
  const zones = [execution, verification];
  const watched = execution.metrics.filter(({ metric }) => isOfAgentCore(metric));
  const silent = watched.filter(({ metric }) => !hasData({ metric, zones }));
  const what = silent.map(({ metric }) => metricText(metric)).join("; ");
  const differs = watched.length === 0 || silent.length > 0;
  const counts = zones.map(({ zone, metrics }) => {
    const known = metrics.filter(({ metric, sum }) => isOfAgentCore(metric) && sum !== undefined);
    return `${known.length} in the account of the ${zone} zone`;
  });
  return {
    point,
    assumed,
    observed: differs ? `no data under: ${what || "no alarm watches any"}` : `with data: ${counts.join(", ")}`,
    differs,
    todo: differs
      ? "aws cloudwatch list-metrics shows under which names there is data; let the alarms watch those."
      : "",
  };
}

function concurrentInvokes({ kind, stories, execution, verification }: SmokeFacts): AssumptionCheck {
  const point = "several invocations of one AgentCore session at once";
  const assumed = "polls and a cancel are answered while the agent runs";
  if (kind !== "agentcore") return { point, assumed, ...createHiddenResult(`Its Execution zone is of kind ${kind}.`) };
  const zones = [verification, ...("skipped" in execution ? [] : [execution])];
  const errors = zones.flatMap((zone) => zone.errors.flatMap(({ lines }) => [...lines.keys()]));
  const canceled = stories.find(({ story }) => story === "cancel")?.ok === true;
  const polls = stories.reduce((sum, story) => sum + story.polls, 0);
  return {
    point,
    assumed,
    observed: `${polls} polls; the cancel was ${canceled ? "" : "not "}answered; log lines of errors: ${errors.join(", ") || "none"}`,
    differs: !canceled || polls === 0,
    todo: canceled && polls > 0 ? "" : "Look at call_failed in the worker's log, by its cause_kind.",
  };
}

function policies(facts: SmokeFacts): AssumptionCheck {
  const point = "policies that match a principal which did not exist when they were made";
  const assumed = "they let the Verification role in";
  if (facts.kind === "external") return { point, assumed, ...createHiddenResult("It deploys no Execution zone.") };
  const count = countPolledStories(facts);
  return {
    point,
    assumed,
    observed: `${count} of ${facts.stories.length} tasks were accepted by the stage's own Execution zone`,
    differs: count === 0,
    todo: count === 0 ? "npx sekisho destinations check says whether the role is refused." : "",
  };
}

function creation({ verification }: SmokeFacts): AssumptionCheck {
  const count = verification.alarms.length;
  return {
    point: "errors when resources are created",
    assumed: "none",
    observed: `the stack is there, with ${count} alarms; what failed before is in CloudFormation's events`,
    differs: count === 0,
    todo: count === 0 ? "Look at the events of the stack in CloudFormation." : "",
  };
}

/** New accounts have it; the defaults of a stage are made for it. */
const leastConcurrency = 10;

function concurrency({ lambdaConcurrency }: SmokeFacts): AssumptionCheck {
  const point = "Lambda's concurrency in the Verification account";
  const assumed = `at least ${leastConcurrency}`;
  if (lambdaConcurrency === undefined)
    return { point, assumed, ...createHiddenResult("The credentials lack lambda:GetAccountSettings.") };
  const differs = lambdaConcurrency < leastConcurrency;
  return {
    point,
    assumed,
    observed: String(lambdaConcurrency),
    differs,
    todo: lambdaConcurrency <= leastConcurrency ? "Ask for more in Service Quotas before people use the stage." : "",
  };
}
