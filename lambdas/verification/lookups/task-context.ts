/**
 * Finds what the agent gets to know about a message beside its text: names of the ids in it, the channel, and what the person has open.
 * Nothing about a channel in which the person or the bot is not.
 */

import type { Config } from "@sekisho/config/schema.ts";
import { maxNameLength, maxTopicLength } from "@sekisho/contracts/limits.ts";
import type { SlackContext } from "@sekisho/contracts/methods.ts";
import { sanitizeLine, truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { PostedMessage } from "../slack/api/slack.ts";
import { notationToMarkdown } from "../slack/context/mrkdwn.ts";
import { cleanName, listIds } from "../slack/context/names.ts";
import { createReading, textOf } from "../slack/context/values.ts";
import type { OpenItem, UserMessage } from "../task/messages.ts";
import { installationOf, type Task } from "../task/task.ts";
import {
  createSlackLookups,
  type LookedUpChannel,
  type LookupSlack,
  type TaskLookups,
} from "./slack-lookups.ts";

export type TaskContext = {
  /** By id. */
  names: Readonly<Record<string, string>>;
  context?: SlackContext | undefined;
};

/** Never rejects because of Slack. `texts` are those of the request, and `thread` the earlier messages. */
export type FindTaskContext = (request: {
  task: Task;
  texts: readonly string[];
  thread: readonly PostedMessage[];
  signal: AbortSignal;
}) => Promise<TaskContext>;

type Settings = Pick<Config["slack"]["context"], "names" | "groups" | "channel" | "open">;

/** More ids than a person mentions. Those of the request come first, then those of the newest messages. */
const maxIds = 50;

export function createFindTaskContext(options: {
  slack: LookupSlack;
  settings: Settings;
  now: () => number;
  maxWaitMs?: number;
}): FindTaskContext {
  const { settings } = options;
  const startLookups = createSlackLookups(options);
  return async ({ task, texts, thread, signal }) => {
    const { message } = task;
    const lookups = startLookups({
      installation: installationOf(task),
      requestId: task.id,
      signal,
    });
    const ids = listNamedIds({ message, texts, thread });
    try {
      // The channel first, because the number of calls is limited.
      const lookupResults = await Promise.all([
        findContext({ message, settings, lookups }),
        Promise.all(
          ids.map(async (id) => [id, await findName({ id, message, settings, lookups })] as const),
        ),
      ]);
      const [context, nameEntries] = lookupResults;
      const names = nameEntries.flatMap(([id, name]) =>
        name === undefined ? [] : [[id, name] as const],
      );
      return { names: Object.fromEntries(names), context };
    } finally {
      lookups.end();
    }
  };
}

/**
 * Anybody can type an id. People of other organizations could learn names of people and channels with it that Slack does not show them, so
 * for them only the writers of the thread get names.
 */
function listNamedIds(request: {
  message: UserMessage;
  texts: readonly string[];
  thread: readonly PostedMessage[];
}) {
  const { message, texts, thread } = request;
  const earlier = thread.filter(({ ts }) => Number(ts) < Number(message.ts)).toReversed();
  const writers = earlier.flatMap(({ from, user }) => (from === "person" && user ? [user] : []));
  if (message.external === "people") return [...new Set(writers)].slice(0, maxIds);
  const mentionedIds = earlier.flatMap(({ text, markdown = text }) => listIds(markdown));
  return [...new Set([...texts.flatMap(listIds), ...writers, ...mentionedIds])].slice(0, maxIds);
}

type Query = { message: UserMessage; settings: Settings; lookups: TaskLookups };

async function findName({ id, ...query }: Query & { id: string }): Promise<string | undefined> {
  const { settings, lookups } = query;
  const name = await readName();
  return name === undefined ? undefined : cleanName(name) || undefined;

  async function readName(): Promise<string | undefined> {
    if (/^[UW]/.test(id)) return settings.names ? lookups.personName(id) : undefined;
    if (id.startsWith("S")) return settings.groups ? lookups.groupHandle(id) : undefined;
    return settings.channel
      ? (await findCommonChannel({ ...query, channel: id }))?.name
      : undefined;
  }
}

/** Undefined unless both the bot and the person are in the channel, for all that Slack says. */
async function findCommonChannel(
  request: Query & { channel: string },
): Promise<LookedUpChannel | undefined> {
  const { message, lookups, channel } = request;
  const channelNotes = await lookups.channel(channel);
  if (!channelNotes?.hasBot) return undefined;
  const isCommon =
    channel === message.channel || (await lookups.isMember({ channel, user: message.user }));
  return isCommon ? channelNotes : undefined;
}

async function findContext(query: Query): Promise<SlackContext | undefined> {
  const { message, settings } = query;
  const [channel, open] = await Promise.all([
    settings.channel ? describeChannel(query) : undefined,
    Promise.all(
      (settings.open ? (message.open ?? []) : []).map((item) => findOpenItem({ ...query, item })),
    ),
  ]);
  const namedItems = open.filter((item) => item !== undefined);
  if (channel === undefined && namedItems.length === 0) return undefined;
  return { ...channel, ...(namedItems.length > 0 && { open: namedItems }) };
}

async function describeChannel(query: Query): Promise<SlackContext | undefined> {
  const { message } = query;
  if (message.direct) return { channel_kind: "direct" };
  const channel = await findCommonChannel({ ...query, channel: message.channel });
  if (channel === undefined) return undefined;
  const { kind, topic = "" } = channel;
  // The name of a direct message of several people is made of their handles.
  const name = kind === "group" ? "" : cleanName(channel.name ?? "", maxNameLength);
  const reading = createReading({ botUsers: [] });
  const line = sanitizeLine(
    notationToMarkdown(textOf(topic, reading), reading).replace(/\s+/g, " ").trim(),
  );
  return {
    ...(name !== "" && { channel_name: name }),
    channel_kind: kind,
    ...(line !== "" && { channel_topic: truncate(line, maxTopicLength) }),
  };
}

type ShownItem = NonNullable<SlackContext["open"]>[number];

/** Slack does not say whether the bot may see a canvas or a list, so these are left out. */
async function findOpenItem({
  item,
  ...query
}: Query & { item: OpenItem }): Promise<ShownItem | undefined> {
  const id = item.type === "message" ? item.channel : item.id;
  if (id === query.message.channel) return undefined;
  const channel = await findCommonChannel({ ...query, channel: id });
  if (channel === undefined) return undefined;
  if (item.type === "message") return item;
  const name = cleanName(channel.name ?? "", maxNameLength);
  return { ...item, ...(name !== "" && { name }) };
}
