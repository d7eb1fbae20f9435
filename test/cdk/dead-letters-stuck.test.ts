/** The alarm DeadLettersStuck of the template, evaluated over the metrics of SQS. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { alarmStates, watchedBy } from "../rehearsal/aws/alarms.ts";
import { createMetrics } from "../rehearsal/aws/metrics.ts";
import { createResolver, type Resource } from "../rehearsal/template/resolve.ts";
import { synthAll } from "./synth.ts";
import { variants } from "./variants.ts";

const minuteMs = 60_000;
const minutes = 30;
let alarm: Resource;

beforeAll(async () => {
  const made = await synthAll({ only: variants.external });
  const assembly = made.get("only")?.assembly;
  if (assembly === undefined) throw new Error("nothing was synthesized");
  const [found] = createResolver({ assembly })
    .resources("AWS::CloudWatch::Alarm")
    .filter(({ logicalId }) => logicalId.startsWith("DeadLettersStuck"));
  if (found === undefined) throw new Error("there is no such alarm");
  alarm = found;
});

/** Returns the state at the end. The functions return the value of a minute, or undefined where SQS has none. */
function lastState(values: { visible: (minute: number) => number | undefined; hidden: (minute: number) => number }) {
  const metrics = createMetrics();
  for (const { id } of watchedBy(alarm)) {
    const isHidden = id.name === "ApproximateNumberOfMessagesNotVisible";
    for (let minute = 0; minute < minutes; minute++) {
      // SQS reports hidden messages only if there are some.
      const value = isHidden ? values.hidden(minute) || undefined : values.visible(minute);
      if (value !== undefined) metrics.record({ ...id, value, atMs: minute * minuteMs });
    }
  }
  return alarmStates({ alarm, metrics, window: { fromMs: 0, toMs: minutes * minuteMs - 1 } }).at(-1);
}

describe("the alarm DeadLettersStuck", () => {
  it.each([
    ["rings for a message that nobody receives, and none is hidden", () => 1, () => 0, "ALARM"],
    ["rings for a message that is always hidden", () => 0, () => 1, "ALARM"],
    ["rings for a message that is hidden at times", (at: number) => at % 2, (at: number) => 1 - (at % 2), "ALARM"],
    ["rings where the latest value of hidden messages is late", () => 0, (at: number) => Number(at < 29), "ALARM"],
    ["rings where the latest values are all late", (at: number) => (at < 29 ? 1 : undefined), () => 0, "ALARM"],
    ["does not ring for an empty queue", () => 0, () => 0, "OK"],
    ["does not ring for a message that is handled", (at: number) => Number(at > 20), () => 0, "OK"],
    ["does not ring for a queue without values", () => undefined, () => 0, "OK"],
  ])("%s", (_title, visible, hidden, state) => {
    expect(lastState({ visible, hidden })).toBe(state);
  });
});
