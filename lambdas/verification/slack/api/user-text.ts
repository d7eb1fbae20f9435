/** A user's message as Slack sends it: its text without the bot's own mention and without Slack's escapes, and its files. */

import * as z from "zod/mini";
import { maxTextLength } from "../../../../contracts/limits.ts";
import type { UserFile } from "../../task/messages.ts";

/** Whether `text` mentions one of `botUsers` (`<@U…>`, also with a label). What a person typed as `<@U…>` arrives escaped and is none. */
export function isMentioned({ text, botUsers }: { text: string; botUsers: readonly string[] }): boolean {
  return botUsers.some((user) => text.includes(`<@${user}>`) || text.includes(`<@${user}|`));
}

/** Tells whether the text mentions anybody. */
export function hasMention(text: string): boolean {
  return /<@[A-Z0-9]/.test(text);
}

/**
 * The app's own user in another workspace, as a list of one or none. In a channel of Slack Connect an `app_mention` may be of that
 * user, although Slack names only the user of one installation (`botUsers`). It is the only user that the text mentions, or else
 * the one that the text begins with.
 */
export function findOtherBotUser({
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
export function isAddressedToOther({ text, botUsers }: { text: string; botUsers: readonly string[] }): boolean {
  const [, user] = /^\s*<(?:@([A-Z0-9]+)|!(?:subteam\^|here|channel|everyone))/.exec(text) ?? [undefined, ""];
  return user !== "" && (user === undefined || !botUsers.includes(user));
}

/**
 * Every mention of the bot goes, with the blanks behind it. `&amp;`, `&lt;` and `&gt;` become the characters that the
 * user typed, once; mentions of others, channels and links keep Slack's notation.
 * A text above the contract's limit is cut to one character above it: short enough for the queue, and still too long,
 * so that the worker refuses it in words instead of running half of it.
 */
export function readUserText({ text, botUsers }: { text: string; botUsers: readonly string[] }): string {
  const withoutMention = text.replace(/<@([A-Z0-9]+)(?:\|[^<>]*)?>[ \t]*/g, (mention, user: string) =>
    botUsers.includes(user) ? "" : mention,
  );
  return isStorable(unescapeMrkdwn(withoutMention.trim()).slice(0, maxTextLength + 1));
}

/** More than are ever taken along, so that the worker can say that they are too many. */
const maxFiles = 30;
const maxNameLength = 255;

export const slackId = z.string().check(z.minLength(1), z.maxLength(64));

/** Of what cannot be had Slack tells little more than the id. */
const fileSchema = z.object({
  id: slackId,
  name: z.nullish(z.string()),
  title: z.nullish(z.string()),
  mimetype: z.nullish(z.string()),
  size: z.nullish(z.int().check(z.nonnegative())),
  mode: z.nullish(z.string()),
  is_external: z.nullish(z.boolean()),
  url_private: z.nullish(z.string()),
  url_private_download: z.nullish(z.string()),
});

/** Deleted, too old for the workspace's plan, or kept somewhere else than in Slack. */
const absentModes: readonly unknown[] = ["tombstone", "hidden_by_limit", "external"];

/**
 * The files of a message (https://docs.slack.dev/reference/objects/file-object), as the queue carries them. A file that is not to be had
 * stays in the list without `url`: whoever sent it is to read so.
 */
export function readUserFiles(files: readonly unknown[]): UserFile[] {
  return files.slice(0, maxFiles).flatMap((each) => {
    const { data: file } = fileSchema.safeParse(each);
    if (file === undefined) return [];
    const url = file.is_external || absentModes.includes(file.mode) ? undefined : readFileUrl(file);
    return [
      {
        id: file.id,
        name: isStorable((file.name || file.title || file.id).slice(0, maxNameLength)),
        mimetype: isStorable((file.mimetype || "application/octet-stream").slice(0, maxNameLength)),
        size: file.size ?? 0,
        ...(url === undefined ? {} : { url }),
      },
    ];
  });
}

function readFileUrl({ url_private_download, url_private }: z.infer<typeof fileSchema>): string | undefined {
  const url = url_private_download || url_private;
  return url && /^https?:\/\/[\x21-\x7e]{1,1000}$/.test(url) ? url : undefined;
}

/** What is no character of XML 1.0 (section 2.2): controls, halves of surrogate pairs, U+FFFE and U+FFFF. */
const unstorable = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/**
 * The text with U+FFFD for characters that SQS refuses and that JSON would write six bytes long: three bytes for one UTF-16 unit
 * are then the most, so that the longest message stays below 256 KiB.
 */
function isStorable(text: string): string {
  return text.replace(unstorable, "\ufffd");
}

const unescapes: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };

/** What was escaped, as it was typed; once, so that a typed `&amp;lt;` stays what it is. */
export function unescapeMrkdwn(text: string): string {
  return text.replace(/&(?:amp|lt|gt);/g, (entity) => unescapes[entity] ?? entity);
}
