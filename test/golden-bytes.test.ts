/**
 * Values that outlive a deploy: ids that deduplicate, and what stands in Slack, in a table or with a peer. A change of one of
 * them loses track of what is under way, so it needs a decision of its own.
 */
import { expect, it } from "@jest/globals";
import {
  createFingerprint,
  deriveCallerId,
  deriveConversationId,
  deriveMessageTaskId,
  deriveTaskId,
} from "@sekisho/execution/tasks/execution-task.ts";
import { toShardKey } from "@sekisho/runtime/engine/aws/table.ts";
import { formatPosition, toRecordAttributes } from "@sekisho/runtime/engine/aws/task-store.ts";
import { formerStateOf } from "@sekisho/sekisho/usage/former-history.ts";
import { storedRulesId } from "@sekisho/verification/gate/rules.ts";
import { createMetadata } from "@sekisho/verification/slack/api/post-keys.ts";
import { encodeButton } from "@sekisho/verification/slack/messages/buttons.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { interactionIdOf, requestIdOf, sessionIdOf } from "@sekisho/verification/task/routing.ts";
import { threadIdOf } from "@sekisho/verification/task/thread.ts";
import { sampleTask } from "./verification/task/sample.ts";

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const zoneSecret = "a secret of the zone, 32 bytes long";
const conversation = { channel: "C1", threadTs: "1760000000.000100" };

function shardOf(state: string): string {
  return toShardKey({ id: requestId, bucket: toStateBucket(state) ?? "" });
}

const values: readonly (readonly [name: string, value: unknown, expected: unknown])[] = [
  [
    "request id",
    requestIdOf({ appId: "A1", channel: "C1", ts: "1760000000.000100" }),
    "e8146a6d-ba55-52ca-8202-9f36c031853d",
  ],
  [
    "request id of an opened conversation",
    interactionIdOf({ kind: "assistant", appId: "A1", channel: "D1", ts: "1.000100" }),
    "dad79d69-48d7-5438-a121-fd07ebc82197",
  ],
  [
    "session id of a thread",
    sessionIdOf({ appId: "A1", conversation, perTask: undefined, zoneSecret }),
    "s-6152e08ce511a9c5f47fdfb7bbbd58a4bdb23cbd8f05fdf248c2a89b93a3ecc3",
  ],
  [
    "session id of a reply",
    sessionIdOf({
      appId: "A1",
      conversation: { channel: "C1", threadTs: "1.000100" },
      perTask: undefined,
      zoneSecret,
    }),
    "s-b17417f6d8e6880fce0e2fdab8825fe99e699eb2f7457519cb661dc441a3aa2d",
  ],
  [
    "session id of a direct message that is one conversation",
    sessionIdOf({ appId: "A1", conversation: { channel: "C1" }, perTask: undefined, zoneSecret }),
    "s-d7cbeccc936597c8da8b1f205f9daac9063298a5a9bc6757981ae2869d852330",
  ],
  [
    "session id of one task",
    sessionIdOf({ appId: "A1", conversation, perTask: requestId, zoneSecret }),
    "s-4ec30422e4640f41c580424b079645f43fc2b18b43646cbe0843e7632e993583",
  ],
  [
    "button that cancels",
    encodeButton({ requestId, button: { type: "cancel" } }),
    { action_id: "sekisho_cancel", value: '{"r":"0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d"}' },
  ],
  [
    "button that answers",
    encodeButton({ requestId, button: { type: "answer", question: 1, option: 2 } }),
    {
      action_id: "sekisho_answer_2",
      value: '{"r":"0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d","q":1,"o":2}',
    },
  ],
  [
    "metadata of a post",
    createMetadata({ requestId, kind: "answer", index: 1 }),
    {
      event_payload: { part: 2, request_id: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d" },
      event_type: "sekisho_message",
    },
  ],
  ["stored key of a thread", threadIdOf(sampleTask()), "thread:C1/1760000000.000100"],
  ["stored key of a task", sampleTask().id, "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d"],
  ["stored state of a day's entry of 1.0.0", formerStateOf("2026-11-22"), "history/2026-11-22"],
  ["shard of an open task", shardOf("waiting"), "open#12"],
  ["shard of a task that is over", shardOf("done"), "done#12"],
  [
    "attributes of a record",
    toRecordAttributes({
      item: {
        id: requestId,
        revision: 2,
        state: "done",
        thread: "t",
        principal: "p",
        expiresAtMs: 86_400_000,
        listedAtMs: 5,
      },
      bucket: toStateBucket("done"),
      writer: "w",
    }),
    {
      data: {
        S: '{"id":"0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d","revision":2,"state":"done","thread":"t","principal":"p","expiresAtMs":86400000,"listedAtMs":5,"recordVersion":"1.0.0"}',
      },
      expiresAtMs: { N: "86400000" },
      listed: { S: "000000000000005.0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d" },
      principal: { S: "p" },
      revision: { N: "2" },
      shard: { S: "done#12" },
      state: { S: "done" },
      thread: { S: "t" },
      ttl: { N: "86400" },
      writer: { S: "w" },
    },
  ],
  [
    "position of a record",
    formatPosition({ nowMs: 1_760_000_000_000, count: 3, id: requestId }),
    "001760000000000.0000000003.0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d",
  ],
  ["stored key of the allowlist", storedRulesId, "allowlist"],
  [
    "task id of a request",
    deriveTaskId({ principal: "p", requestId }),
    "d65da7db-668e-8cc6-9b84-a6941969eb53",
  ],
  [
    "task id of an A2A message",
    deriveMessageTaskId({ principal: "p", messageId: "m" }),
    "55a77917-bf7b-89ba-98e5-cad4714eeff2",
  ],
  [
    "fingerprint of a request",
    createFingerprint({
      channel: "C1",
      text: "a",
      thread_ts: "1.1",
      user_id: "U1",
      attachments: [],
    }),
    "d651ae3153f3080a5dd2d0f49fa7e52138dfb0ed9e957a14a8109d26e7beb1cb",
  ],
  ["id of a caller", deriveCallerId("p"), "e9324264-c2f8-8390-ad7f-d0804b9b3712"],
  [
    "id of a conversation",
    deriveConversationId({ principal: "p", conversation: "c" }),
    "995d1fe3-70f4-8f00-a2d9-347448261cf2",
  ],
];

it.each(values)("keeps the exact bytes of the %s", (_name, value, expected) => {
  expect(value).toEqual(expected);
});
