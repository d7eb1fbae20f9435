/** The resources of a running stage, found by the outputs of its stacks as the command line finds them. */

import { formatStackName, verificationOutputs } from "@sekisho/cdk/names.ts";
import { openDynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { emulatedAws } from "../../doubles/aws/emulators.ts";
import type { Zone } from "../kills/plan.ts";
import { stageName } from "./synthesized.ts";
import type { Resolver, Resource } from "./template/resolve.ts";
import { eventSourcesOf } from "./template/wiring.ts";
import type { World } from "./world.ts";

export function verificationOutput(
  { resolver }: { resolver: Resolver },
  name: keyof typeof verificationOutputs,
): string {
  const stackName = formatStackName({ stageName, zone: "Verification" });
  return resolver.output({ stackName, name: verificationOutputs[name] });
}

export function queueArnOf(
  world: Pick<World, "resolver">,
  output: "queueUrl" | "deadLettersUrl",
): string {
  const { resolver } = world;
  const url = verificationOutput(world, output);
  const queue = resolver.resources("AWS::SQS::Queue").find(({ ref }) => ref === url);
  if (queue === undefined) throw new Error(`The output ${output} names no queue.`);
  return queue.arn;
}

/** Returns the function that consumes the queue. */
export function consumerOf({ resolver }: { resolver: Resolver }, queueArn: string): Resource {
  const source = eventSourcesOf({ resolver }).find((candidate) => candidate.queueArn === queueArn);
  const fn = resolver.byArn("AWS::Lambda::Function", source?.functionArn ?? "");
  if (fn === undefined) throw new Error(`No function takes messages off ${queueArn}.`);
  return fn;
}

/** Makes all instances of the worker start anew, once they have done what they are at. */
export async function startWorkersAnew(world: World): Promise<void> {
  const { label } = consumerOf(world, queueArnOf(world, "queueUrl"));
  await Promise.all(
    [...world.functions.values()].filter(({ fn }) => fn.label === label).map((fn) => fn.cool()),
  );
}

/** Resolves when all queues with a consumer are empty and nothing is under way from one. The clock moves to what is due later. */
export async function quiet(
  world: Pick<World, "resolver" | "queues" | "skipUntil">,
): Promise<void> {
  const consumed = eventSourcesOf(world).map(({ queueArn }) => queueArn);
  await world.skipUntil("end of all that is under way", () =>
    consumed.every((arn) => depthOf(world, arn) === 0) ? true : undefined,
  );
}

/** Returns the number of messages in a queue, whether visible, hidden or delayed. */
export function depthOf({ queues }: Pick<World, "queues">, queueArn: string): number {
  const { visible, notVisible, delayed } = queues.depthOf(queueArn);
  return visible + notVisible + delayed;
}

export const stackOf: Record<Zone, string> = {
  verification: "Verification",
  execution: "Execution",
};

export type ZoneTables = {
  /** Throws if the zone has no table. */
  storeOf<T extends TaskItem>(request: { zone: Zone; parse: (json: unknown) => T }): TaskStore<T>;
};

/** Opens the zones' tables past the gateway, which needs no permission. */
export function openZoneTables({
  tablesUrl,
  resolver,
}: Pick<World, "tablesUrl" | "resolver">): ZoneTables {
  const client = openDynamoDb({ ...emulatedAws(tablesUrl), region: "us-east-1" });
  return {
    storeOf({ zone, parse }) {
      const tables = resolver.resources("AWS::DynamoDB::Table");
      const table = tables.find(({ label }) => label.startsWith(`${stackOf[zone]}/`));
      if (table === undefined) throw new Error(`The ${zone} zone has no table.`);
      const bucketOf = zone === "verification" ? toStateBucket : undefined;
      return createDynamoTaskStore({ client, table: table.ref, parse, bucketOf });
    },
  };
}
