/** The worker's Slack: in memory, with what others wrote there, behind the faults of the world. */

import {
  type PostedMessage,
  type SlackApi,
  SlackError,
} from "@sekisho/verification/slack/api/slack.ts";
import { readMessageText } from "@sekisho/verification/slack/context/message.ts";
import type { Operate, WorkerProcess } from "./faults.ts";
import { createMemorySlack, type MemorySlack } from "./memory-slack.ts";

/** A message of somebody else: outside of a thread in `channel`, or without it in whichever thread is read. */
export type Foreign = { ts: string; text: string; channel?: string } & Partial<
  Pick<PostedMessage, "from" | "user" | "fileIds" | "files" | "key">
>;

export type WorldSlack = Omit<MemorySlack, "api"> & { api(process: WorkerProcess): SlackApi };

const errors = {
  refused: () => new SlackError("unavailable"),
  unknown: () => new SlackError("ambiguous"),
};

export function createWorldSlack({
  operate,
  now,
  newTs,
  inSlack = [],
}: {
  operate: Operate;
  now: () => number;
  newTs: () => string;
  inSlack?: readonly Foreign[];
}): WorldSlack {
  const slack = createMemorySlack({
    ...{ now, newTs, botUser: "UBOT", teamOf: () => "T1" },
    foreignMessages: ({ botUsers }) =>
      inSlack.map((message) => ({
        ...{ key: undefined, from: "person", user: "U1", fileIds: [] },
        markdown: readMessageText({ message, botUsers, maxLength: 40_000 }),
        ...message,
      })),
    triggerAgeMs: (triggerId) => (triggerId === "late" ? Number.POSITIVE_INFINITY : 0),
  });
  return {
    ...slack,
    api: (process) =>
      slack.api(({ method: name, request, effect }) => {
        const content = "content" in request ? request.content : undefined;
        return operate({ process, operation: { party: "slack", name, content }, errors, effect });
      }),
  };
}
