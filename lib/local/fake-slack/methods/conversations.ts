/** `conversations.*`: threads, histories and direct messages. */
import type { FakeSlackMessage } from "../messages.ts";
import { findBotUser, hasAccessToTeam, isTrue, type MethodArgs } from "../reply.ts";
import { toSlackMessage } from "../slack-message.ts";
import { channels, type FakeSlackChannel, findFakePerson } from "../workspace.ts";
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
    const roots = all.filter(
      ({ channel, threadTs }) => channel === call.channel.id && threadTs === undefined,
    );
    const newestFirst = roots.sort((a, b) => Number(b.ts) - Number(a.ts));
    return pageOf(call, newestFirst);
  },

  "conversations.info": ({ state, channel }) => {
    const missing = findMissingScope(state.rules.scopes, channel);
    if (missing !== undefined) return missing;
    if (isHidden(channel)) return { error: "channel_not_found" };
    const {
      id,
      name,
      topic = "",
      direct,
      private: isPrivate = false,
      sharedWith,
      withoutBot = false,
    } = channel;
    const isShared = sharedWith !== undefined;
    if (direct) return { channel: { id, is_im: true, is_ext_shared: isShared } };
    const kind = {
      is_channel: !isPrivate,
      is_group: isPrivate,
      is_im: false,
      is_mpim: false,
      is_private: isPrivate,
    };
    const notes = {
      topic: { value: topic, creator: "", last_set: 0 },
      is_member: !withoutBot,
      is_ext_shared: isShared,
    };
    return { channel: { id, name, ...kind, ...notes } };
  },

  "conversations.members": ({ args, state, channel, from, caller }) => {
    const missing = findMissingScope(state.rules.scopes, channel);
    if (missing !== undefined) return missing;
    if (isHidden(channel)) return { error: "channel_not_found" };
    const everyone = [...channel.people, ...(channel.withoutBot ? [] : [findBotUser(caller)])];
    const end = from + Math.min(Number(args.limit ?? 100), state.rules.pageSize);
    const next = end < everyone.length ? Buffer.from(`next:${end}`).toString("base64") : "";
    return { members: everyone.slice(from, end), response_metadata: { next_cursor: next } };
  },

  "conversations.open": ({ args: { users }, caller }) => {
    if (!users) return { error: "users_list_not_supplied" };
    const [user, ...others] = users.split(",");
    if (others.length > 0) return { error: "method_not_supported_for_channel_type" };
    const person = findFakePerson(user);
    if (person === undefined) return { error: "user_not_found" };
    const own = channels.filter(({ direct, team }) => direct && hasAccessToTeam(caller, team));
    const directChannel = own.find(({ people }) => people.includes(person.id));
    return directChannel === undefined
      ? { error: "user_not_visible" }
      : { channel: { id: directChannel.id } };
  },
};

/** Slack wants the scope of the channel's own kind. */
function findMissingScope(
  scopes: readonly string[] | undefined,
  { direct, private: isPrivate }: FakeSlackChannel,
) {
  const neededScope = direct ? "im:read" : isPrivate ? "groups:read" : "channels:read";
  if (scopes === undefined || scopes.includes(neededScope)) return undefined;
  return { error: "missing_scope", needed: neededScope, provided: scopes.join(",") } as const;
}

/** Slack does not show a private channel to a bot that is not in it. */
function isHidden({ private: isPrivate, withoutBot }: FakeSlackChannel): boolean {
  return isPrivate === true && withoutBot === true;
}

/** One page of `wanted` after `first`, and the cursor of the next page. */
function pageOf(
  { args, state, from }: MethodContext & { from: number },
  wantedMessages: readonly FakeSlackMessage[],
  first: readonly FakeSlackMessage[] = [],
) {
  const inRange = wantedMessages.filter(rangeFilter(args));
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
