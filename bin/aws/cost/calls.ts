/** The AWS calls of one task: those that the rehearsal measured, and those that AWS makes itself on behalf of a task. */
import { readFileSync } from "node:fs";
import * as z from "zod";
import { assumptions } from "./assumptions.ts";

const callsSchema = z.record(z.string().regex(/^[a-z0-9-]+:[A-Za-z]+$/), z.number().min(0));
export type Calls = z.infer<typeof callsSchema>;

const measuredSchema = z.object({
  kinds: z.record(z.enum(["agentcore", "lambda", "external"]), z.object({ sync: callsSchema, perPoll: callsSchema })),
});
export type Measured = z.infer<typeof measuredSchema>;
export type Kind = keyof Measured["kinds"];

/** As the rehearsal wrote it. */
export function readMeasuredCalls(): Measured {
  const file = new URL("../../../lib/measured-calls.json", import.meta.url);
  return measuredSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** `taskMs` is how long the agent works: a running task has its lease renewed in the Execution zone's table. */
export function callsOf({
  measured,
  kind,
  polls,
  taskMs,
}: {
  measured: Measured;
  kind: Kind;
  polls: number;
  taskMs: number;
}): Calls {
  const { sync, perPoll } = measured.kinds[kind];
  const calls: Calls = { ...sync };
  for (const [name, count] of Object.entries(perPoll)) calls[name] = (calls[name] ?? 0) + count * polls;
  const messages = calls["sqs:SendMessage"] ?? 0;
  const renewals = kind === "external" ? 0 : Math.floor(taskMs / (assumptions.renewSeconds.value * 1000));
  calls["dynamodb:UpdateItem"] = (calls["dynamodb:UpdateItem"] ?? 0) + renewals;
  // Lambda takes each message from its queue and removes it: those two calls are paid for like ours.
  calls["sqs:ReceiveMessage"] = messages;
  calls["sqs:DeleteMessage"] = messages;
  return calls;
}
