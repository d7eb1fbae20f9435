/** The queues, functions and the parameter of the Verification zone, found by its outputs as the command line finds them. */
import { formatStackName, verificationOutputs } from "../../lib/cdk/names.ts";
import { stageName } from "./synthesized.ts";
import type { Resolver, Resource } from "./template/resolve.ts";
import { eventSourcesOf, resourceByArn } from "./template/wiring.ts";
import type { World } from "./world.ts";

export function verificationOutput(
  { resolver }: Pick<World, "resolver">,
  name: keyof typeof verificationOutputs,
): string {
  const stackName = formatStackName({ stageName, zone: "Verification" });
  return resolver.output({ stackName, name: verificationOutputs[name] });
}

export function queueArnOf(world: Pick<World, "resolver">, output: "queueUrl" | "deadLettersUrl"): string {
  const { resolver } = world;
  const url = verificationOutput(world, output);
  const queue = resolver.resources("AWS::SQS::Queue").find((candidate) => resolver.ref(candidate) === url);
  if (queue === undefined) throw new Error(`The output ${output} names no queue.`);
  return resolver.attribute(queue, "Arn");
}

/** The function that takes messages off this queue. */
export function consumerOf({ resolver }: { resolver: Resolver }, queueArn: string): Resource {
  const source = eventSourcesOf({ resolver }).find((candidate) => candidate.queueArn === queueArn);
  const fn = resourceByArn({ resolver, type: "AWS::Lambda::Function", arn: source?.functionArn ?? "" });
  if (fn === undefined) throw new Error(`No function takes messages off ${queueArn}.`);
  return fn;
}

/** Resolves when nothing waits in any queue that a function consumes, or is under way from one. What is due later is due at once. */
export async function quiet({
  resolver,
  queues,
  skipUntil,
}: Pick<World, "resolver" | "queues" | "skipUntil">): Promise<void> {
  const consumed = eventSourcesOf({ resolver }).map(({ queueArn }) => queueArn);
  await skipUntil("end of all that is under way", async () => {
    const depths = await Promise.all(consumed.map((arn) => queues.attributesOf(arn)));
    const messages = depths.flatMap((attributes) =>
      ["", "NotVisible", "Delayed"].map((suffix) => Number(attributes[`ApproximateNumberOfMessages${suffix}`] ?? 0)),
    );
    return messages.every((count) => count === 0) ? true : undefined;
  });
}
