/** `conversations.*`: threads, histories and direct messages. */
import type { FakeSlackMessage } from "../messages.ts";
import { hasAccessToTeam, isTrue, type MethodArgs } from "../reply.ts";
import { toSlackMessage } from "../slack-message.ts";
import { channels, findFakePerson } from "../workspace.ts";
import type { MethodContext } from "./arguments.ts";
import type { Methods } from "./table.ts";

export const conversationMethods: Methods<"conversations"> = {
  "conversations.replies": (call) => {
    const { args, state, channel } = call;
    const [parent, ...replies] = state.messages.thread({ channel: channel.id, ts: args.ts ?? "" });
    if (parent === undefined || parent.ts !== args.ts) return { error: "thread_not_found" };
    // Slack puts the parent on every page, however old it is.
    return pageOf(call, replies, [parent]);
  },

  "conversations.history": (call) => {
    const all = call.state.messages.all();
    const roots = all.filter(({ channel, threadTs }) => channel === call.channel.id && threadTs === undefined);
    const newestFirst = roots.sort((a, b) => Number(b.ts) - Number(a.ts));
    return pageOf(call, newestFirst);
  },

  "conversations.info": ({ state, channel: { id, name, direct, sharedWith, withoutBot = false } }) => {
    const needed = direct ? "im:read" : "channels:read";
    const { scopes } = state.rules;
    if (scopes?.includes(needed) === false) return { error: "missing_scope", needed, provided: scopes.join(",") };
    const isShared = sharedWith !== undefined;
    if (direct) return { channel: { id, is_im: true, is_ext_shared: isShared } };
    return { channel: { id, name, is_channel: true, is_im: false, is_member: !withoutBot, is_ext_shared: isShared } };
  },

  "conversations.open": ({ args: { users }, caller }) => {
    if (!users) return { error: "users_list_not_supplied" };
    const [user, ...others] = users.split(",");
    if (others.length > 0) return { error: "method_not_supported_for_channel_type" };
    const person = findFakePerson(user);
    if (person === undefined) return { error: "user_not_found" };
    const own = channels.filter(({ direct, team }) => direct && hasAccessToTeam(caller, team));
    const found = own.find(({ people }) => people.includes(person.id));
    return found === undefined ? { error: "user_not_visible" } : { channel: { id: found.id } };
  },
};

/** One page of `wanted` after `first`, and the cursor of the next page. */
function pageOf(
  { args, state, from }: MethodContext & { from: number },
  wanted: readonly FakeSlackMessage[],
  first: readonly FakeSlackMessage[] = [],
) {
  const inRange = wanted.filter(rangeFilter(args));
  const end = from + Math.min(Number(args.limit ?? 1000), state.rules.pageSize);
  const next = end < inRange.length ? Buffer.from(`next:${end}`).toString("base64") : "";
  const withMetadata = isTrue(args.include_all_metadata);
  const messages = [...first, ...inRange.slice(from, end)].map((message) =>
    toSlackMessage({ message, withMetadata, filesUrl: state.url }),
  );
  return { messages, has_more: next !== "", response_metadata: { next_cursor: next } };
}

function rangeFilter({ oldest = "0", latest = "Infinity", inclusive }: MethodArgs) {
  const [from, to] = [Number(oldest), Number(latest)];
  return ({ ts }: FakeSlackMessage): boolean => {
    const at = Number(ts);
    return isTrue(inclusive) ? from <= at && at <= to : from < at && at < to;
  };
}
