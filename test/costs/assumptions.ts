/** The assumptions of the estimate, which neither a template nor the rehearsal can measure. The page names the most important ones. */
import { pushedTimes } from "@sekisho/execution/host-settings.ts";

type Assumption = { value: number; unit: string; what: string };

export const assumptions = {
  pushedPollAfterMs: {
    value: pushedTimes.pushedPollAfterMs,
    unit: "ms",
    what: "delay before a poll, as requested by an Execution zone on AWS, which also pushes the end of a task",
  },
  pollAfterMs: {
    value: 1000,
    unit: "ms",
    what: "delay of the first poll, as requested by a host elsewhere",
  },
  stepMs: {
    value: 200,
    unit: "ms",
    what: "duration of one message of the worker, without waiting for the agent",
  },
  pollMs: { value: 50, unit: "ms", what: "duration of one poll by the worker" },
  ingressMs: { value: 15, unit: "ms", what: "duration of one event at the warm ingress" },
  urlMs: { value: 20, unit: "ms", what: "duration of one poll at the Function URL" },
  ingressGb: { value: 0.5, unit: "GB", what: "memory of the ingress" },
  workerGb: { value: 0.5, unit: "GB", what: "memory of the worker" },
  urlGb: { value: 0.5, unit: "GB", what: "memory of the function behind the Function URL" },
  agentGb: { value: 1, unit: "GB", what: "memory of the function that runs agents" },
  messageChunks: { value: 1, unit: "chunk of 64 KB", what: "size of a queue message" },
  recordKb: { value: 2, unit: "KB", what: "size of a task's record, kept for 30 days" },
  transactionKb: {
    value: 3,
    unit: "KB",
    what: "size of what a task's end writes in one transaction, where each KB costs twice: record, thread",
  },
  indexWrites: {
    value: 3,
    unit: "writes",
    what: "to the index per task in the Verification zone: its creation, its end (two)",
  },
  personIndexWrites: {
    value: 2,
    unit: "writes",
    what: "to the index of persons per task in the Verification zone: its creation, its end",
  },
  renewSeconds: {
    value: 10,
    unit: "s",
    what: "time between two renewals of the lease of a running task",
  },
  tasksPerCachedRead: {
    value: 10,
    unit: "tasks",
    what: "per read of a secret, which is cached for a minute",
  },
  kmsPerTask: {
    value: 0.1,
    unit: "requests",
    what: "to KMS per task, because SQS and DynamoDB cache data keys",
  },
  platformLogBytes: {
    value: 400,
    unit: "bytes",
    what: "START, END and REPORT lines of one Lambda invocation",
  },
  accessLogBytes: { value: 160, unit: "bytes", what: "one line of the API's access log" },
  agentcoreVcpu: {
    value: 0.1,
    unit: "vCPU",
    what: "average use of a session while its agent works",
  },
  agentcoreGb: { value: 0.25, unit: "GB", what: "memory of an AgentCore session" },
  sessionLifeSeconds: { value: 28_800, unit: "s", what: "longest life of an AgentCore session" },
  monthHours: {
    value: 720,
    unit: "h",
    what: "of a month. A custom metric costs only in hours with data: in all of them, or with fewer tasks in one per task",
  },
  paidRotations: {
    value: 2,
    unit: "rotations",
    what: "of a KMS key that AWS charges for, each with the price of a key. A key is rotated every year",
  },
  pollersPerQueue: { value: 5, unit: "pollers", what: "of Lambda at a queue without messages" },
  longPollSeconds: { value: 20, unit: "s", what: "wait of such a poller in one receive" },
  secrets: { value: 2, unit: "secrets", what: "the signing secret and the bot token" },
} satisfies Record<string, Assumption>;
