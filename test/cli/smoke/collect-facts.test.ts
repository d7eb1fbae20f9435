/** A queue that no function polls and a function that nothing invokes are healthy without values. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { createIsIdle } from "../../../lib/cli/smoke/collect-facts.ts";
import { referenced, type Synthesized, synthAll } from "../../cdk/synth.ts";
import { variants } from "../../cdk/variants.ts";

const type = "AWS::SQS::Queue";
let stage: Synthesized | undefined;
beforeAll(async () => {
  stage = (await synthAll({ only: variants["lambda in one account"] })).get("only");
});

describe("a metric of a smoke test", () => {
  it("is idle exactly where no function of the template polls its queue", () => {
    const stacks = [...(stage?.stacks.values() ?? [])];
    const all = stacks.flatMap(({ resources }) => resources);
    const polled = all
      .filter((each) => each.type === "AWS::Lambda::EventSourceMapping")
      .map(({ properties }) => referenced(properties.EventSourceArn));
    const ids = all.filter((each) => each.type === type).map(({ id }) => id);
    const queues = ids.map((logicalId) => ({
      type,
      logicalId,
      physicalId: `https://sqs.eu-central-1.amazonaws.com/111111111111/name-of-${logicalId}`,
    }));
    const isIdle = createIsIdle({ functions: [], queues });
    const name = "ApproximateNumberOfMessagesVisible";
    const idle = ids.filter((id) => isIdle({ namespace: "AWS/SQS", name, dimensions: { QueueName: `name-of-${id}` } }));
    expect(idle).toHaveLength(2);
    expect(idle).toEqual(ids.filter((id) => !polled.includes(id)));
  });

  it("is idle where nothing has invoked its function", () => {
    const isIdle = createIsIdle({ functions: ["rests"], queues: [] });
    const of = (FunctionName: string) =>
      isIdle({ namespace: "AWS/Lambda", name: "Errors", dimensions: { FunctionName } });
    expect([of("rests"), of("works")]).toEqual([true, false]);
  });
});
