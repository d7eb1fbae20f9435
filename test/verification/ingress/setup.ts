/** An ingress over a queue that remembers, and all log lines that it wrote. */

import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { createMinuteLimiter } from "@sekisho/runtime/minute-limiter.ts";
import { createIngress, type Ingress } from "@sekisho/verification/ingress/ingress.ts";
import {
  type AskMessage,
  type QueueMessage,
  queueMessageSchema,
} from "@sekisho/verification/task/messages.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { nowMs, secret } from "./slack-request.ts";

/** An answer that says nothing but its status. */
export const emptyAnswer = (status: number) => ({
  status,
  headers: { "cache-control": "no-store" },
  body: "",
});

/** `sent` is all that reached the queue, `asks` the questions among it. */
export type Setup = { ingress: Ingress; asks: AskMessage[]; sent: QueueMessage[]; lines: string[] };

export function setUp({
  readSecret = async () => secret,
  send,
  maxBodyBytes,
  forwards,
  now = () => nowMs,
}: {
  readSecret?: () => Promise<string>;
  send?: TaskQueue["send"];
  maxBodyBytes?: number;
  forwards?: boolean;
  now?: () => number;
} = {}): Setup {
  const asks: AskMessage[] = [];
  const messages: QueueMessage[] = [];
  const { log, lines } = collectLog({ level: "debug" });
  const remember: TaskQueue["send"] = async ({ body }) => {
    const message = queueMessageSchema.parse(JSON.parse(body));
    messages.push(message);
    if (message.type === "ask") asks.push(message);
  };
  const ingress = createIngress({
    signingSecret: createCachedSecret({ readSecret, now }),
    queue: { send: send ?? remember },
    now,
    isDue: createMinuteLimiter({ now }),
    log,
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
    ...(forwards === undefined ? {} : { forwards }),
  });
  return { ingress, asks, sent: messages, lines };
}
