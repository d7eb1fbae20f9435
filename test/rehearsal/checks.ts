/** What AWS refuses at the deploy, and our own rules of wiring: found by reading the templates. */
import type { Policies } from "./iam/policies.ts";
import type { Resolver } from "./template/resolve.ts";
import { type EventSource, type LambdaFunction, resourceByArn } from "./template/wiring.ts";

/** AWS refuses a visibility below the function's time-out, and advises this many times as much. */
const timeoutsInVisibility = 6;
const defaultVisibilitySeconds = 30;

export function wiringProblems({
  resolver,
  policies,
  functions,
  sources,
}: {
  resolver: Resolver;
  policies: Policies;
  functions: readonly LambdaFunction[];
  sources: readonly EventSource[];
}): string[] {
  return [
    ...sources.flatMap((source) => visibilityProblems({ resolver, functions, source })),
    ...strangers({ resolver, policies }),
    ...functions
      .filter(({ runtime }) => runtime !== "nodejs24.x")
      .map(({ label, runtime }) => `${label} runs on ${runtime} instead of nodejs24.x.`),
  ];
}

function visibilityProblems({
  resolver,
  functions,
  source: { label, queueArn, functionArn },
}: {
  resolver: Resolver;
  functions: readonly LambdaFunction[];
  source: EventSource;
}): string[] {
  const queue = resourceByArn({ resolver, type: "AWS::SQS::Queue", arn: queueArn });
  const fn = functions.find(({ arn }) => arn === functionArn);
  if (queue === undefined || fn === undefined) return [`${label} joins a queue and a function that are not there.`];
  const visibilityMs = Number(queue.properties.VisibilityTimeout ?? defaultVisibilitySeconds) * 1000;
  if (visibilityMs >= timeoutsInVisibility * fn.timeoutMs) return [];
  const least = (timeoutsInVisibility * fn.timeoutMs) / 1000;
  return [
    `${queue.label}: its VisibilityTimeout of ${visibilityMs / 1000} s is below ${least} s, six times the time-out of ${fn.label}.`,
  ];
}

/** AWS refuses a policy with a principal that does not exist; a condition that names one lets nobody in. */
function strangers({ resolver, policies }: { resolver: Resolver; policies: Policies }): string[] {
  const roles = new Set(resolver.resources("AWS::IAM::Role").map((role) => resolver.attribute(role, "Arn")));
  return policies.all().flatMap(({ principals, conditions, source }) => {
    const ofConditions = conditions.filter(({ key }) => key.toLowerCase() === "aws:principalarn");
    return [...(principals?.aws ?? []), ...ofConditions.flatMap(({ values }) => values)]
      .filter((arn) => arn.includes(":role/") && !roles.has(arn))
      .map((arn) => `${source} names the principal ${arn}, which no template creates.`);
  });
}
