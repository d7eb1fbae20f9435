/** The values that agents keep between the tasks of one conversation. */
import { isDeepStrictEqual } from "node:util";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import { absent, changeRecord, type Guess, withMemory } from "@sekisho/runtime/engine/records.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { isTooDeep } from "@sekisho/runtime/untrusted-input.ts";
import type { AgentContext } from "../agents/agent.ts";
import {
  type ConversationRecord,
  type ConversationStore,
  createConversationRecord,
} from "../tasks/conversation-record.ts";
import { createStoreGuard } from "../tasks/task-store.ts";

const dayMs = 24 * 3600_000;
const keepMs = 30 * dayMs;
const maxValueBytes = 64 * 1024;

/** Also used without a store, and for a caller that names no conversation. */
const nothingKept: AgentContext["conversation"] = {
  read: async () => undefined,
  write: async (value) => void toStoredValue(value),
};

/** Calls the store only when the agent reads or writes. Of several writers the last one wins, as if the others had come before it. */
export function createConversation(options: {
  /** Undefined if the host keeps nothing. */
  store: ConversationStore | undefined;
  principal: string;
  /** The caller's own id for the conversation. */
  session: string | undefined;
  agentName: string;
  timeoutMs: number;
  now: () => number;
  log: Log;
}): AgentContext["conversation"] {
  const { store, session, now } = options;
  if (store === undefined || session === undefined) return nothingKept;
  const createRecord = () =>
    createConversationRecord({ ...options, session, expiresAtMs: now() + keepMs });
  let latest: Guess<ConversationRecord> | undefined;
  const memory = {
    recall: () => undefined,
    note: (record: ConversationRecord) => (latest = record),
  };
  let guardedStore: ConversationStore | undefined;
  const openStore = () => (guardedStore ??= withMemory(withGuard({ ...options, store }), memory));

  /** A value that stays is written once a day, so that it does not expire while the conversation goes on. */
  function isStored(record: ConversationRecord, value: unknown): boolean {
    return record.expiresAtMs > now() + keepMs - dayMs && isDeepStrictEqual(record.value, value);
  }

  return {
    async read() {
      const record = await openStore().get({ id: createRecord().id });
      latest = record ?? absent;
      // The agent may change what it read and write it back, so the comparison needs another copy.
      return structuredClone(record?.value);
    },
    async write(newValue) {
      const value = toStoredValue(newValue);
      if (typeof latest === "object" && isStored(latest, value)) return;
      const newRecord = createRecord();
      const { expiresAtMs } = newRecord;
      // The value may have come from what was read, so it goes with a record that was erased since.
      const isErased = (record: ConversationRecord) =>
        record === newRecord && typeof latest === "object";
      await changeRecord<ConversationRecord, void>({
        store: openStore(),
        id: newRecord.id,
        none: () => newRecord,
        guess: latest,
        decide: (record) => ({
          item:
            isErased(record) || isStored(record, value)
              ? record
              : { ...record, value, expiresAtMs },
          result: undefined,
        }),
        exhausted: () => new SekishoError("unavailable"),
      });
    },
  };
}

/** Every failure of the store is `unavailable`. The log line has the task's ids from `log`. */
function withGuard(options: {
  store: ConversationStore;
  timeoutMs: number;
  log: Log;
}): ConversationStore {
  const { store } = options;
  const guard = createStoreGuard(options);
  return {
    get: (request) => guard({ work: store.get(request), operation: "conversation_read" }),
    create: (request) => guard({ work: store.create(request), operation: "conversation_write" }),
    replace: (request) => guard({ work: store.replace(request), operation: "conversation_write" }),
  };
}

/** A copy as JSON, which the agent cannot change while it is written. Throws for what cannot be stored, also if nothing would be. */
function toStoredValue(value: unknown): unknown {
  if (value === undefined) return undefined;
  if (!isJsonWithin({ value, maxBytes: maxValueBytes }))
    throw new RangeError("conversation.write takes at most 64 KiB of JSON.");
  const json = JSON.stringify(value);
  if (json === undefined || isTooDeep(Buffer.from(json)))
    throw new TypeError("conversation.write takes JSON that is not deeply nested.");
  return JSON.parse(json);
}
