/** What the user typed: the text of a message without the bot's own mention and without Slack's escapes. */
import { maxTextLength } from "../../../contracts/limits.ts";
import { unescapeMrkdwn } from "../slack/escape.ts";
import { storable } from "./storable.ts";

/** Whether `text` mentions one of `botUsers` (`<@U…>`, also with a label). What a person typed as `<@U…>` arrives escaped and is none. */
export function mentions({ text, botUsers }: { text: string; botUsers: readonly string[] }): boolean {
  return botUsers.some((user) => text.includes(`<@${user}>`) || text.includes(`<@${user}|`));
}

/** Tells whether the text mentions anybody. */
export function mentionsSomebody(text: string): boolean {
  return /<@[A-Z0-9]/.test(text);
}

/**
 * The app's own user in another workspace, as a list of one or none. In a channel of Slack Connect an `app_mention` may be of that
 * user, although Slack names only the user of one installation (`botUsers`). It is the only user that the text mentions, or else
 * the one that the text begins with.
 */
export function otherBotUser({
  text,
  botUsers,
  author,
}: {
  text: string;
  botUsers: readonly string[];
  author: string | null | undefined;
}): string[] {
  const users = new Set([...text.matchAll(/<@([A-Z0-9]+)/g)].flatMap(([, user = ""]) => (user === author ? [] : user)));
  if (botUsers.some((user) => users.has(user))) return [];
  const [, first] = /^\s*<@([A-Z0-9]+)/.exec(text) ?? [];
  return [...users].filter((user) => users.size === 1 || user === first);
}

/** Whether it speaks to somebody else from its first word on: a person, a user group, or everyone there. Without the bot among them. */
export function beginsWithOther({ text, botUsers }: { text: string; botUsers: readonly string[] }): boolean {
  const [, user] = /^\s*<(?:@([A-Z0-9]+)|!(?:subteam\^|here|channel|everyone))/.exec(text) ?? [undefined, ""];
  return user !== "" && (user === undefined || !botUsers.includes(user));
}

/**
 * Every mention of the bot goes, with the blanks behind it. `&amp;`, `&lt;` and `&gt;` become the characters that the
 * user typed, once; mentions of others, channels and links keep Slack's notation.
 * A text above the contract's limit is cut to one character above it: short enough for the queue, and still too long,
 * so that the worker refuses it in words instead of running half of it.
 */
export function askedText({ text, botUsers }: { text: string; botUsers: readonly string[] }): string {
  const withoutMention = text.replace(/<@([A-Z0-9]+)(?:\|[^<>]*)?>[ \t]*/g, (mention, user: string) =>
    botUsers.includes(user) ? "" : mention,
  );
  return storable(unescapeMrkdwn(withoutMention.trim()).slice(0, maxTextLength + 1));
}
