/** The AWS calls and log bytes of one task: those that the rehearsal measured, and the calls that Lambda makes for a queue. */
import { readFileSync } from "node:fs";
import * as z from "zod";
import { assumptions } from "./assumptions.ts";

const callsSchema = z.record(z.string().regex(/^[a-z0-9-]+:[A-Za-z]+$/), z.number().min(0));
export type CallCounts = z.infer<typeof callsSchema>;

const measuredSchema = z.object({
  kinds: z.record(
    z.enum(["agentcore", "lambda", "external"]),
    z.object({
      sync: callsSchema,
      perPoll: callsSchema,
      logBytes: z.object({ sync: z.number().min(0), perPoll: z.number().min(0) }),
      customMetrics: z.int().min(0),
    }),
  ),
});
export type MeasuredCalls = z.infer<typeof measuredSchema>;
export type MeasuredKind = keyof MeasuredCalls["kinds"];

/** The file that the rehearsal writes. */
export function readMeasuredCalls(): MeasuredCalls {
  const file = new URL("../../../cdk/measured-calls.json", import.meta.url);
  return measuredSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** The lease of a running task is renewed in the Execution zone's table as long as its agent works (`taskMs`). */
export function estimateCalls({
  measured,
  kind,
  polls,
  taskMs,
}: {
  measured: MeasuredCalls;
  kind: MeasuredKind;
  polls: number;
  taskMs: number;
}): CallCounts {
  const { sync, perPoll } = measured.kinds[kind];
  const calls: CallCounts = { ...sync };
  for (const [name, count] of Object.entries(perPoll)) calls[name] = (calls[name] ?? 0) + count * polls;
  const messages = calls["sqs:SendMessage"] ?? 0;
  const renewals = kind === "external" ? 0 : Math.floor(taskMs / (assumptions.renewSeconds.value * 1000));
  calls["dynamodb:UpdateItem"] = (calls["dynamodb:UpdateItem"] ?? 0) + renewals;
  // Lambda receives and deletes each message for us, and both are paid for like our own calls.
  calls["sqs:ReceiveMessage"] = messages;
  calls["sqs:DeleteMessage"] = messages;
  return calls;
}

/** The bytes of our own log lines, metric lines among them. */
export function estimateLogBytes({
  measured,
  kind,
  polls,
}: {
  measured: MeasuredCalls;
  kind: MeasuredKind;
  polls: number;
}): number {
  const { sync, perPoll } = measured.kinds[kind].logBytes;
  return sync + perPoll * polls;
}
