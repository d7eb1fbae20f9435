/** The cost of one task by service, in dollars. */
import { assumptions } from "./assumptions.ts";
import type { CallCounts, MeasuredKind } from "./calls.ts";
import { priceInDollars } from "./prices.ts";

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
export type Service = (typeof services)[number];
export type TaskCost = Record<Service, number>;

export type TaskUse = {
  kind: MeasuredKind;
  calls: CallCounts;
  polls: number;
  taskMs: number;
  /** Bytes of our own log lines. */
  logBytes: number;
  idleSeconds: number;
};

export function estimateTaskCost(use: TaskUse): TaskCost {
  const { calls } = use;
  const a = assumptions;
  const functions = estimateFunctions(use);
  const invocations = sum(functions.map((each) => each.invocations));
  const gbSeconds = sum(functions.map(({ seconds, gb }) => seconds * gb));
  const messages = countCalls(calls, /^sqs:/) * a.messageChunks.value;
  const writes = countCalls(calls, /^dynamodb:(Put|Update|Delete)Item$/);
  const reads = countCalls(calls, /^dynamodb:(GetItem|Query)$/);
  const logBytes = use.logBytes + invocations * a.platformLogBytes.value + a.accessLogBytes.value;
  return {
    "API Gateway": priceInDollars({ price: "httpApiRequest", units: 1 }),
    Lambda:
      priceInDollars({ price: "lambdaRequest", units: invocations }) +
      priceInDollars({ price: "lambdaGbSecond", units: gbSeconds }),
    SQS:
      priceInDollars({ price: "sqsRequest", units: messages }) +
      priceInDollars({ price: "sqsFairRequest", units: messages }),
    DynamoDB:
      priceInDollars({ price: "dynamodbWrite", units: writes * Math.ceil(a.recordKb.value) + a.indexWrites.value }) +
      priceInDollars({ price: "dynamodbRead", units: reads * Math.ceil(a.recordKb.value / 4) }) +
      priceInDollars({ price: "dynamodbGbMonth", units: a.recordKb.value / 1e6 }) +
      priceInDollars({ price: "dynamodbRecoveryGbMonth", units: a.recordKb.value / 1e6 }),
    "Secrets Manager":
      priceInDollars({
        price: "secretRead",
        units: countCalls(calls, /^secretsmanager:/) / a.tasksPerCachedRead.value,
      }) + priceInDollars({ price: "parameterRead", units: countCalls(calls, /^ssm:/) / a.tasksPerCachedRead.value }),
    KMS: priceInDollars({ price: "kmsRequest", units: a.kmsPerTask.value }),
    "CloudWatch Logs": priceInDollars({ price: "logGb", units: logBytes / 1e9 }),
    ...estimateAgentcoreCost(use),
  };
}

type FunctionUse = { invocations: number; seconds: number; gb: number };

/** `seconds` of all its invocations. The first call waits for the result, but not longer than the sync budget. */
function estimateFunctions({ kind, calls, polls, taskMs }: TaskUse): FunctionUse[] {
  const a = assumptions;
  const waitSeconds = Math.min(taskMs / 1000, a.syncBudgetSeconds.value);
  const ofExecution = kind === "lambda" ? 1 : 0;
  const steps = countCalls(calls, /^sqs:SendMessage$/) - ofExecution;
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

/** Each task has a session of its own, as in a thread of its own. An idle session costs its memory, and no processor. */
function estimateAgentcoreCost({ kind, taskMs, idleSeconds }: TaskUse) {
  const { agentcoreVcpu, agentcoreGb, sessionLifeSeconds } = assumptions;
  const isUsed = kind === "agentcore" ? 1 : 0;
  const workHours = (isUsed * taskMs) / 3600_000;
  const idleHours = (isUsed * Math.min(idleSeconds, Math.max(0, sessionLifeSeconds.value - taskMs / 1000))) / 3600;
  const memory = (hours: number) => priceInDollars({ price: "agentcoreGbHour", units: hours * agentcoreGb.value });
  return {
    "AgentCore, agent at work":
      priceInDollars({ price: "agentcoreVcpuHour", units: workHours * agentcoreVcpu.value }) + memory(workHours),
    "AgentCore, session idle": memory(idleHours),
  };
}

function countCalls(calls: CallCounts, pattern: RegExp): number {
  return sum(Object.entries(calls).map(([name, count]) => (pattern.test(name) ? count : 0)));
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
