/** Assumptions about AWS that were never verified on a real account, each with a check that a stage can answer. */
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import { hasData, isOfAgentCore, metricText, type SmokeFacts } from "./checks.ts";

/** `differs`: what was observed is not what was assumed. Undefined where this stage cannot show it. */
export type AssumptionCheck = {
  point: string;
  assumed: string;
  observed: string;
  differs: boolean | undefined;
  todo: string;
};

type Observation = Pick<AssumptionCheck, "observed" | "differs" | "todo">;
type Assumption = { point: string; assumed: string; observe: (facts: SmokeFacts) => Observation };

export function checkAssumptions(facts: SmokeFacts): AssumptionCheck[] {
  return assumptions(facts).map(({ observe, ...row }) => ({ ...row, ...observe(facts) }));
}

function seen(observed: string, differs: boolean, todo: string): Observation {
  return { observed, differs, todo: differs ? todo : "" };
}

function notShown(why: string): Observation {
  return { observed: `Not shown by this stage. ${why}`, differs: undefined, todo: "" };
}

/** New accounts have it, and a stage's defaults fit it. */
const minConcurrency = 10;

/** Each with the reason why no stage can show it. */
const unobservable: readonly (readonly [point: string, assumed: string, why: string])[] = [
  [
    "errors of the AgentCore platform in A2A mode",
    "they carry x-amzn-ErrorType, as in HTTP mode",
    "A stage's runtime uses HTTP mode, and nothing here can cause errors of the platform.",
  ],
  [
    "a token of GetWebIdentityToken at a runtime with an inbound JWT authorizer",
    "it is accepted",
    "A stage's runtime is called with SigV4.",
  ],
  ["durable functions in the region", "not needed", "Sekisho uses none."],
  [
    "prices",
    "as sekisho cost has them",
    `Cost Explorer shows them a day later: compare it with ${sekisho} cost.`,
  ],
];

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
function assumptions({ wakes }: SmokeFacts): Assumption[] {
  return [
    {
      point: "AgentCore Runtime in the region",
      assumed: "it is available",
      observe: ofAgentCore((facts) => {
        const count = countPolled(facts);
        const todo = "Look at doctor's destinations; choose another region, or the kind lambda.";
        return seen(
          `${count} tasks were accepted by the runtime (${facts.region})`,
          count === 0,
          todo,
        );
      }),
    },
    {
      point: "loop detection of Lambda",
      assumed: `RecursiveLoop: Allow lets a task wake itself more than ${wakes} times`,
      observe({ stories, verification }) {
        const polls = stories.find(({ story }) => story === "wakes")?.polls ?? 0;
        const drops = verification.metrics.filter(
          ({ metric }) => metric.name === "RecursiveInvocationsDropped",
        );
        const dropped = drops.reduce((total, { sum = 0 }) => total + sum, 0);
        const todo =
          "Look at the alarms LoopStopped, and at RecursiveLoop of the worker's function.";
        return seen(
          `${polls} wake-ups, ${dropped} invocations dropped`,
          polls <= wakes || dropped > 0,
          todo,
        );
      },
    },
    {
      point: "names, dimensions and account of AgentCore's metrics",
      assumed: "those that the alarms watch, in the account of the runtime or of the caller",
      observe: ofAgentCore(observeRuntimeMetrics),
    },
    {
      point: "several invocations of one AgentCore session at once",
      assumed: "polls and a cancel are answered while the agent runs",
      observe: ofAgentCore(({ stories, execution, verification }) => {
        const zones = "skipped" in execution ? [verification] : [verification, execution];
        const errors = zones.flatMap((zone) =>
          zone.errors.flatMap(({ lines }) => [...lines.keys()]),
        );
        const canceled = stories.find(({ story }) => story === "cancel")?.ok === true;
        const polls = stories.reduce((sum, story) => sum + story.polls, 0);
        return seen(
          `${polls} polls; the cancel was ${canceled ? "" : "not "}answered; log lines of errors: ${errors.join(", ") || "none"}`,
          !canceled || polls === 0,
          "Look at call_failed in the worker's log, by its cause_kind.",
        );
      }),
    },
    {
      point: "an AgentCore session while its agent works",
      assumed:
        "HealthyBusy with time_of_last_update, and polls, keep it alive beyond the stage's idleSeconds",
      observe: ofAgentCore(({ stories }) => {
        const long = stories.find(({ story }) => story === "long");
        const todo =
          "Look at the sessions of that task in the runtime's log group, and at the answers of GET /ping.";
        return seen(`the long task ${long?.what ?? "did not run"}`, long?.ok !== true, todo);
      }),
    },
    {
      point: "policies that match a principal which did not exist when they were made",
      assumed: "they let the Verification role in",
      observe(facts) {
        if (facts.kind === "external") return notShown("It deploys no Execution zone.");
        const count = countPolled(facts);
        const what = `${count} of ${facts.stories.length} tasks were accepted by the stage's own Execution zone`;
        return seen(
          what,
          count === 0,
          `${sekisho} doctor says whether the role is refused.`,
        );
      },
    },
    {
      point: "errors when resources are created",
      assumed: "none",
      observe({ verification: { alarms } }) {
        const what = `the stack is there, with ${alarms.length} alarms; CloudFormation's events show earlier failures`;
        return seen(
          what,
          alarms.length === 0,
          "Look at the events of the stack in CloudFormation.",
        );
      },
    },
    {
      point: "Lambda's concurrency in the Verification account",
      assumed: `at least ${minConcurrency}`,
      observe({ lambdaConcurrency: allowed }) {
        if (allowed === undefined)
          return notShown("The credentials lack lambda:GetAccountSettings.");
        const todo =
          allowed <= minConcurrency
            ? "Ask for more in Service Quotas before people use the stage."
            : "";
        return { observed: String(allowed), differs: allowed < minConcurrency, todo };
      },
    },
    ...unobservable.map(
      ([point, assumed, why]): Assumption => ({ point, assumed, observe: () => notShown(why) }),
    ),
  ];
}

function ofAgentCore(observe: Assumption["observe"]): Assumption["observe"] {
  return (facts) =>
    facts.kind === "agentcore"
      ? observe(facts)
      : notShown(`Its Execution zone is of kind ${facts.kind}.`);
}

function countPolled({ stories }: SmokeFacts): number {
  return stories.filter(({ polls }) => polls > 0).length;
}

function observeRuntimeMetrics({ execution, verification }: SmokeFacts): Observation {
  if ("skipped" in execution) return notShown(execution.skipped);
  const zones = [execution, verification];
  const watched = execution.metrics.filter(({ metric }) => isOfAgentCore(metric));
  const silent = watched
    .filter(({ metric }) => !hasData(metric, zones))
    .map(({ metric }) => metricText(metric));
  if (watched.length === 0 || silent.length > 0) {
    const todo =
      "aws cloudwatch list-metrics shows under which names there is data; let the alarms watch those.";
    return seen(`no data under: ${silent.join("; ") || "no alarm watches any"}`, true, todo);
  }
  const counts = zones.map(({ zone, metrics }) => {
    const known = metrics.filter(({ metric, sum }) => isOfAgentCore(metric) && sum !== undefined);
    return `${known.length} in the account of the ${zone} zone`;
  });
  return seen(`with data: ${counts.join(", ")}`, false, "");
}
