/** `conversations.replies`, `conversations.history`, `conversations.open`. */
import type { FakeSlackMessage } from "./messages.ts";
import {
  errorReply,
  type FakeSlackMethod,
  findVisibleChannel,
  hasAccessToTeam,
  isTrue,
  type MethodArgs,
} from "./reply.ts";
import { toSlackMessage } from "./slack-message.ts";
import type { FakeSlackState } from "./state.ts";
import { channels, findFakePerson } from "./workspace.ts";

export function conversationMethods(state: FakeSlackState): Record<string, FakeSlackMethod> {
  const { messages, rules } = state;

  function shown(message: FakeSlackMessage, { include_all_metadata }: MethodArgs) {
    return toSlackMessage({ message, withMetadata: isTrue(include_all_metadata), filesUrl: state.filesUrl() });
  }

  /** One page of what is wanted, and the cursor of the next. */
  function pageOf(wanted: readonly FakeSlackMessage[], { limit, cursor }: MethodArgs) {
    const from = cursor === undefined ? 0 : Number(decode(cursor).replace(/^next:/, ""));
    if (!Number.isInteger(from)) return undefined;
    const end = from + Math.min(Number(limit ?? 1000), rules.pageSize);
    const next = end < wanted.length ? Buffer.from(`next:${end}`).toString("base64") : "";
    return { page: wanted.slice(from, end), rest: { has_more: next !== "", response_metadata: { next_cursor: next } } };
  }

  const replies: FakeSlackMethod = (args, caller) => {
    const { channel, ts } = args;
    if (channel === undefined || findVisibleChannel(caller, channel) === undefined)
      return errorReply("channel_not_found");
    const [parent, ...rest] = messages.thread({ channel, ts: ts ?? "" });
    if (parent === undefined || parent.ts !== ts) return errorReply("thread_not_found");
    const paged = pageOf(rest.filter(inRange(args)), args);
    if (paged === undefined) return errorReply("invalid_cursor");
    // As Slack does it: the parent is on every page, however old it is.
    const page = [parent, ...paged.page];
    return { ok: true, messages: page.map((message) => shown(message, args)), ...paged.rest };
  };

  const history: FakeSlackMethod = (args, caller) => {
    const { channel } = args;
    if (channel === undefined || findVisibleChannel(caller, channel) === undefined)
      return errorReply("channel_not_found");
    const roots = messages.all().filter((message) => message.channel === channel && message.threadTs === undefined);
    const newestFirst = roots.filter(inRange(args)).sort((a, b) => Number(b.ts) - Number(a.ts));
    const paged = pageOf(newestFirst, args);
    if (paged === undefined) return errorReply("invalid_cursor");
    return { ok: true, messages: paged.page.map((message) => shown(message, args)), ...paged.rest };
  };

  const open: FakeSlackMethod = ({ users }, caller) => {
    if (!users) return errorReply("users_list_not_supplied");
    const [user, ...others] = users.split(",");
    if (others.length > 0) return errorReply("method_not_supported_for_channel_type");
    const person = findFakePerson(user);
    if (person === undefined) return errorReply("user_not_found");
    const found = channels.find(
      (each) => each.direct && hasAccessToTeam(caller, each.team) && each.people.includes(person.id),
    );
    return found === undefined ? errorReply("user_not_visible") : { ok: true, channel: { id: found.id } };
  };

  return { "conversations.replies": replies, "conversations.history": history, "conversations.open": open };
}

function inRange({ oldest = "0", latest, inclusive }: MethodArgs): (message: { ts: string }) => boolean {
  const [from, to] = [Number(oldest), latest === undefined ? Number.POSITIVE_INFINITY : Number(latest)];
  return ({ ts }) => {
    const at = Number(ts);
    return isTrue(inclusive) ? from <= at && at <= to : from < at && at < to;
  };
}

function decode(cursor: string): string {
  return Buffer.from(cursor, "base64").toString();
}
