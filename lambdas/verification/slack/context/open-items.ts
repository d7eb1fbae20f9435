/** Reads what a person has open in Slack (https://docs.slack.dev/reference/events/app_context_changed). */

import type { OpenItem } from "../../task/messages.ts";
import { createReading, fieldsOf, idOf, listOf } from "./values.ts";

/** The contract allows no more. */
const maxItems = 10;

/**
 * `appContext` is that of a direct message with an agent. Canvases and lists are left out, because Slack does not say whether the bot may
 * see them.
 */
export function readOpenItems(appContext: unknown): OpenItem[] {
  const entities = listOf(fieldsOf(appContext).entities, createReading({ botUsers: [] }));
  const items = entities
    .slice(0, 2 * maxItems)
    .flatMap((entity) => readItem(fieldsOf(entity)) ?? []);
  return items.slice(0, maxItems);
}

function readItem({ type, value }: Readonly<Record<string, unknown>>): OpenItem | undefined {
  if (type === "slack#/types/channel_id") {
    const id = idOf(value);
    return id === "" ? undefined : { type: "channel", id };
  }
  if (type !== "slack#/types/message_context") return undefined;
  const { channel_id, message_ts: ts } = fieldsOf(value);
  const channel = idOf(channel_id);
  const isTs = typeof ts === "string" && /^\d{1,12}\.\d{1,9}$/.test(ts);
  return channel === "" || !isTs ? undefined : { type: "message", id: ts, channel };
}
