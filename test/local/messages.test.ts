import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  createFakeSlackMessages,
  type FakeSlackMessage,
  type FakeSlackMessages,
} from "../../lib/local/fake-slack/messages.ts";

const now = () => 1_790_000_000_000;
const channels = ["C1", "C2"];
const deed = fc.record({
  type: fc.constantFrom("post", "reply", "change", "remove"),
  channel: fc.constantFrom(...channels),
  which: fc.nat(9),
});

function perform(
  messages: FakeSlackMessages,
  { type, channel, which }: typeof deed extends fc.Arbitrary<infer D> ? D : never,
) {
  const all = messages.all();
  const chosen: FakeSlackMessage | undefined = all[which % Math.max(all.length, 1)];
  const said = { user: "U1", text: "hi", metadata: undefined };
  if (type === "post" || chosen === undefined) messages.add({ ...said, channel, threadTs: undefined });
  else if (type === "change") messages.change(chosen, { text: "changed" });
  else if (type === "remove") messages.remove(chosen);
  else messages.add({ ...said, channel: chosen.channel, threadTs: chosen.threadTs ?? chosen.ts });
}

/** What a look at every message would find. */
function threadOf(messages: FakeSlackMessages, { channel, ts }: FakeSlackMessage): FakeSlackMessage[] {
  const isIn = (message: FakeSlackMessage) =>
    message.channel === channel && (message.ts === ts || message.threadTs === ts);
  return messages.all().filter(isIn);
}

describe("the fake Slack's messages", () => {
  it("give a thread as the message and its replies, oldest first, whatever was posted, changed and removed", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 40 }), (deeds) => {
        const messages = createFakeSlackMessages({ now });
        const seen: FakeSlackMessage[] = [];
        messages.onChange((change) => change.type === "message" && seen.push(change.message));
        for (const each of deeds) perform(messages, each);
        const restored = createFakeSlackMessages({ now, stored: messages.snapshot() });
        for (const message of seen) {
          expect(messages.thread(message)).toEqual(threadOf(messages, message));
          expect(restored.thread(message)).toEqual(threadOf(messages, message));
        }
      }),
    );
  });
});
