/** What one task costs, by service, in dollars. */
import { assumptions } from "./assumptions.ts";
import type { Calls, Kind } from "./calls.ts";
import { dollarsOf, type PriceName } from "./prices.ts";

export const services = [
  "HTTP API",
  "Lambda",
  "SQS",
  "DynamoDB",
  "Secrets Manager",
  "KMS",
  "CloudWatch Logs",
  "AgentCore",
] as const;
export type Service = (typeof services)[number];
export type Bill = Record<Service, number>;

type Task = { kind: Kind; calls: Calls; polls: number; taskMs: number };

export function billOf(task: Task): Bill {
  const { calls } = task;
  const a = assumptions;
  const functions = functionsOf(task);
  const requests = sum(functions.map(({ invocations }) => invocations));
  const messages = countOf(calls, /^sqs:/) * a.messageChunks.value;
  const writes = countOf(calls, /^dynamodb:(Put|Update|Delete)Item$/);
  const reads = countOf(calls, /^dynamodb:(GetItem|Query)$/);
  return {
    "HTTP API": dollars("httpApiRequest", 1),
    Lambda: dollars("lambdaRequest", requests) + dollars("lambdaGbSecond", sum(functions.map(gbSecondsOf))),
    SQS: dollars("sqsRequest", messages) + dollars("sqsFairRequest", messages),
    DynamoDB:
      dollars("dynamodbWrite", writes * Math.ceil(a.recordKb.value) + a.indexWrites.value) +
      dollars("dynamodbRead", reads * Math.ceil(a.recordKb.value / 4)),
    "Secrets Manager":
      dollars("secretRead", countOf(calls, /^secretsmanager:/) / a.tasksPerCachedRead.value) +
      dollars("parameterRead", countOf(calls, /^ssm:/) / a.tasksPerCachedRead.value),
    KMS: dollars("kmsRequest", a.kmsPerTask.value),
    "CloudWatch Logs": dollars("logGb", (requests * a.logKbPerRequest.value) / 1e6),
    AgentCore: task.kind === "agentcore" ? agentcoreOf(task) : 0,
  };
}

export function totalOf(bill: Bill): number {
  return sum(Object.values(bill));
}

type FunctionUse = { invocations: number; seconds: number; gb: number };

/** `seconds` of all its invocations. The first call waits for the result, but not longer than the sync budget. */
function functionsOf({ kind, calls, polls, taskMs }: Task): FunctionUse[] {
  const a = assumptions;
  const waitSeconds = Math.min(taskMs / 1000, a.syncBudgetSeconds.value);
  const ofExecution = kind === "lambda" ? 1 : 0;
  const steps = countOf(calls, /^sqs:SendMessage$/) - ofExecution;
  const stepSeconds = (steps * a.stepMs.value) / 1000;
  const uses: FunctionUse[] = [
    { invocations: 1, seconds: a.ingressMs.value / 1000, gb: a.ingressGb.value },
    { invocations: steps, seconds: stepSeconds + waitSeconds, gb: a.workerGb.value },
  ];
  if (kind !== "lambda") return uses;
  return [
    ...uses,
    { invocations: 1 + polls, seconds: waitSeconds + (polls * a.urlMs.value) / 1000, gb: a.urlGb.value },
    { invocations: ofExecution, seconds: taskMs / 1000, gb: a.agentGb.value },
  ];
}

/** A session of its own for each task, which ends by itself some time after the last call. */
function agentcoreOf({ taskMs }: Task): number {
  const a = assumptions;
  const hours = taskMs / 3600_000;
  const idleHours = a.agentcoreIdleSeconds.value / 3600;
  return (
    dollars("agentcoreVcpuHour", hours * a.agentcoreVcpu.value) +
    dollars("agentcoreGbHour", (hours + idleHours) * a.agentcoreGb.value)
  );
}

function gbSecondsOf({ seconds, gb }: FunctionUse): number {
  return seconds * gb;
}

function dollars(price: PriceName, units: number): number {
  return dollarsOf({ price, units });
}

function countOf(calls: Calls, pattern: RegExp): number {
  return sum(Object.entries(calls).map(([name, count]) => (pattern.test(name) ? count : 0)));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
