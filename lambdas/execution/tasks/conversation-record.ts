/** The record of what one agent keeps of one conversation. It lives beside the tasks in the Execution zone's store. */
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import * as z from "zod";
import { deriveConversationId, deriveId } from "./execution-task.ts";

const conversationRecordSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("conversation"),
  expiresAtMs: z.number(),
  /** Derived from the caller's own id of the conversation, by which `sekisho data delete` finds the record. */
  sessionKey: z.string(),
  /** Any JSON that the agent stored. Absent if it wants to keep nothing any more. */
  value: z.unknown().optional(),
});
export type ConversationRecord = z.infer<typeof conversationRecordSchema>;

export type ConversationStore = Pick<TaskStore<ConversationRecord>, "get" | "create" | "replace">;

/** Throws if the stored JSON is not such a record. */
export function parseConversationRecord(json: unknown): ConversationRecord {
  return checkRecord({ schema: conversationRecordSchema, json });
}

/** The new record of a conversation, without a value. `session` is the caller's own id for it. */
export function createConversationRecord(of: {
  principal: string;
  session: string;
  agentName: string;
  expiresAtMs: number;
}): ConversationRecord {
  const { principal, session, agentName, expiresAtMs } = of;
  const conversation = deriveConversationId({ principal, conversation: session });
  return {
    id: deriveId(["kept", conversation, agentName]),
    revision: 1,
    state: "conversation",
    expiresAtMs,
    sessionKey: deriveSessionKey(session),
  };
}

/** The same for every caller and agent, so that a zone that knows only its session ids finds what belongs to them. */
export function deriveSessionKey(session: string): string {
  return deriveId(["session", session]);
}
