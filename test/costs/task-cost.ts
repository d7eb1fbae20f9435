/** The AWS calls and log bytes of one task, and their cost by service. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import * as z from "zod";
import { assumptions as a } from "./assumptions.ts";
import { toDollars } from "./prices.ts";

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
type MeasuredKinds = z.infer<typeof measuredSchema>["kinds"];
export type MeasuredKind = keyof MeasuredKinds;

/** What the rehearsal measures (test/lab/rehearsal/stories/measured-calls.ts). */
export const { kinds: measuredKinds } = measuredSchema.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, "measured-calls.json"), "utf8")),
);

/** The dollars of one task, in the order in which they are shown. */
export type TaskCost = Record<Service, number>;
export const services = [
  "API Gateway",
  "Lambda",
  "SQS",
  "DynamoDB",
  "Secrets Manager",
  "KMS",
  "CloudWatch Logs",
  "AgentCore, agent at work",
  "AgentCore, session idle",
] as const;
type Service = (typeof services)[number];

/** `storedPolls` are those after which the worker writes the record, although they brought nothing. */
type TaskUse = {
  kind: MeasuredKind;
  polls: number;
  storedPolls: number;
  taskMs: number;
  idleSeconds: number;
};

/** True if the Execution zone pushes, so that the end of an accepted task needs no regular poll. */
export function isPushing(kind: MeasuredKind): boolean {
  return kind !== "external";
}

/** The push of a task's end. It brings the last poll forward, whose own wake-up is then only read and dropped. */
export function countPushes({ kind, polls }: Pick<TaskUse, "kind" | "polls">): number {
  return isPushing(kind) && polls > 0 ? 1 : 0;
}

export function estimateTask(use: TaskUse): {
  calls: CallCounts;
  logBytes: number;
  dollars: TaskCost;
} {
  const ofKind = measuredKinds[use.kind];
  const calls = estimateCalls(ofKind, use);
  const count = (pattern: RegExp) =>
    sum(Object.entries(calls).map(([name, times]) => (pattern.test(name) ? times : 0)));
  const logBytes = ofKind.logBytes.sync + ofKind.logBytes.perPoll * use.polls;
  const functions = estimateFunctions(use, count(/^sqs:SendMessage$/));
  const invocations = sum(functions.map((each) => each.invocations));
  const gbSeconds = sum(functions.map(({ seconds, gb }) => seconds * gb));
  const messages = count(/^sqs:/) * a.messageChunks.value;
  const writes =
    count(/^dynamodb:(Put|Update|Delete)Item$/) * Math.ceil(a.recordKb.value) +
    count(/^dynamodb:TransactWriteItems$/) * 2 * Math.ceil(a.transactionKb.value) +
    a.indexWrites.value +
    a.personIndexWrites.value;
  const reads = count(/^dynamodb:(GetItem|Query)$/) * Math.ceil(a.recordKb.value / 4);
  const recordGb = a.recordKb.value / 1e6;
  const allLogBytes = logBytes + invocations * a.platformLogBytes.value + a.accessLogBytes.value;
  const dollars = {
    "API Gateway": toDollars("httpApiRequest", 1),
    Lambda: toDollars("lambdaRequest", invocations) + toDollars("lambdaGbSecond", gbSeconds),
    SQS: toDollars("sqsRequest", messages) + toDollars("sqsFairRequest", messages),
    DynamoDB:
      toDollars("dynamodbWrite", writes) +
      toDollars("dynamodbRead", reads) +
      toDollars("dynamodbGbMonth", recordGb) +
      toDollars("dynamodbRecoveryGbMonth", recordGb),
    "Secrets Manager": toDollars(
      "secretRead",
      count(/^secretsmanager:/) / a.tasksPerCachedRead.value,
    ),
    KMS: toDollars("kmsRequest", a.kmsPerTask.value),
    "CloudWatch Logs": toDollars("logGb", allLogBytes / 1e9),
    ...estimateAgentcoreCost(use),
  };
  return { calls, logBytes, dollars };
}

/** Adds polls and pushes to the calls of a task that is answered at once, and the renewals of its lease for as long as the agent works. */
function estimateCalls({ sync, perPoll }: MeasuredKinds[MeasuredKind], use: TaskUse): CallCounts {
  const calls: CallCounts = { ...sync };
  for (const [name, count] of Object.entries(perPoll))
    calls[name] = (calls[name] ?? 0) + count * use.polls;
  const pushes = countPushes(use);
  calls["dynamodb:GetItem"] = (calls["dynamodb:GetItem"] ?? 0) + pushes;
  const messages = (calls["sqs:SendMessage"] ?? 0) + pushes;
  calls["sqs:SendMessage"] = messages;
  const renewals =
    use.kind === "external" ? 0 : Math.floor(use.taskMs / (a.renewSeconds.value * 1000));
  calls["dynamodb:UpdateItem"] = (calls["dynamodb:UpdateItem"] ?? 0) + renewals + use.storedPolls;
  // Lambda receives and deletes each message for us, and both cost as much as our own calls.
  calls["sqs:ReceiveMessage"] = messages;
  calls["sqs:DeleteMessage"] = messages;
  return calls;
}

/** `seconds` of all invocations. The first call waits for the result, but not longer than the sync budget. */
function estimateFunctions(
  { kind, polls, taskMs }: TaskUse,
  messages: number,
): { invocations: number; seconds: number; gb: number }[] {
  const waitSeconds = Math.min(taskMs, defaultSyncBudgetMs) / 1000;
  const runs = kind === "lambda" ? 1 : 0;
  const steps = messages - runs;
  const shortSteps = polls + countPushes({ kind, polls });
  const stepsMs = (steps - shortSteps) * a.stepMs.value + shortSteps * a.pollMs.value;
  const uses = [
    { invocations: 1, seconds: a.ingressMs.value / 1000, gb: a.ingressGb.value },
    { invocations: steps, seconds: stepsMs / 1000 + waitSeconds, gb: a.workerGb.value },
  ];
  if (kind !== "lambda") return uses;
  return [
    ...uses,
    {
      invocations: 1 + polls,
      seconds: waitSeconds + (polls * a.urlMs.value) / 1000,
      gb: a.urlGb.value,
    },
    { invocations: runs, seconds: taskMs / 1000, gb: a.agentGb.value },
  ];
}

/** Each task has a session of its own, as in a thread of its own. An idle session costs its memory, and no processor. */
function estimateAgentcoreCost({ kind, taskMs, idleSeconds }: TaskUse) {
  const isUsed = kind === "agentcore" ? 1 : 0;
  const workHours = (isUsed * taskMs) / 3600_000;
  const idleHours =
    (isUsed * Math.min(idleSeconds, Math.max(0, a.sessionLifeSeconds.value - taskMs / 1000))) /
    3600;
  const memory = (hours: number) => toDollars("agentcoreGbHour", hours * a.agentcoreGb.value);
  return {
    "AgentCore, agent at work":
      toDollars("agentcoreVcpuHour", workHours * a.agentcoreVcpu.value) + memory(workHours),
    "AgentCore, session idle": memory(idleHours),
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
