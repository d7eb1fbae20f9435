/** A task and a policy for tests of the task machine. */

import { createOutgoingFiles } from "@sekisho/verification/slack/messages/answer.ts";
import type { AskMessage } from "@sekisho/verification/task/messages.ts";
import type { Policy, UsableRoute } from "@sekisho/verification/task/routing.ts";
import {
  type AnswerBy,
  receivedTask,
  type Task,
  type TaskCall,
} from "@sekisho/verification/task/task.ts";

export const askedAtMs = 1_760_000_000_000;

export function sampleAsk(message: Partial<AskMessage["message"]> = {}): AskMessage {
  return {
    type: "ask",
    requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d",
    receivedAtMs: askedAtMs,
    trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    message: {
      appId: "A1",
      team: "T1",
      channel: "C1",
      user: "U1",
      ts: `${askedAtMs / 1000}.000100`,
      direct: false,
      text: "What is a sekisho?",
      ...message,
    },
  };
}

/** A file of a message. */
export const sampleFile = {
  id: "F1",
  name: "plan.pdf",
  mimetype: "application/pdf",
  size: 10,
  url: "https://files.slack.com/F1",
};

/** One of several messages; `n` tells their tasks apart. */
export function numberedAsk(n: number, message: Partial<AskMessage["message"]> = {}): AskMessage {
  return {
    ...sampleAsk(message),
    requestId: `00000000-0000-5000-8000-${String(n).padStart(12, "0")}`,
  };
}

export function sampleTask(changes: Partial<Task> = {}): Task {
  return { ...receivedTask(sampleAsk()), ...changes };
}

/** Its call, once it has a destination. */
export function sampleCall(changes: Partial<TaskCall> = {}): TaskCall {
  return { destination: "host", sessionId: "s-1", arrival: "none", ...changes };
}

const defaults = {
  deadlineMs: 60_000,
  address: "there",
  idempotent: true,
  stopAfterResult: false,
  concurrency: "thread",
  questionMs: 3600_000,
  answerBy: "anyone",
  longPollMs: 0,
  maxPollGapMs: Number.POSITIVE_INFINITY,
} as const;

/** `text` is that of the message, or undefined if the route does not match it. */
export function sampleRoute(changes: Partial<UsableRoute>): UsableRoute {
  const { destinations = ["host"] } = changes;
  return {
    key: destinations.join(),
    destinations,
    hasWord: false,
    text: undefined,
    sharesHistory: false,
    ...changes,
  };
}

const sampleZoneSecret = "a secret of this zone, for tests of it alone";

export function samplePolicy({
  routed = true,
  threadReplies = true,
  helpWord = true,
  oneDirectConversation = false,
  commandsPrivately = false,
  needsLookups = false,
  ...destination
}: Partial<{
  routed: boolean;
  threadReplies: boolean;
  helpWord: boolean;
  oneDirectConversation: boolean;
  commandsPrivately: boolean;
  needsLookups: boolean;
  deadlineMs: number;
  address: string;
  idempotent: boolean;
  stopAfterResult: boolean;
  concurrency: "thread" | "parallel";
  questionMs: number;
  answerBy: AnswerBy;
  longPollMs: number;
  maxPollGapMs: number;
}> = {}): Policy {
  return {
    routesOf: ({ text }) => (routed ? [sampleRoute({ text })] : []),
    destinations: new Map([["host", { ...defaults, ...destination }]]),
    needsLookups: () => needsLookups,
    addNames: (text, names) =>
      text.replace(/@U\d+/g, (id) => (names[id.slice(1)] ? `@${names[id.slice(1)]}` : id)),
    fileCountOf: (task) => createOutgoingFiles(task).length,
    threadReplies,
    helpWord,
    oneDirectConversation,
    commandsPrivately,
    sweepAfterMs: 120_000,
    usage: { retentionDays: 30, texts: false },
    zoneSecret: { current: sampleZoneSecret },
  };
}
