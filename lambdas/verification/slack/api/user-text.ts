/** Reads what a user wrote: whom it mentions, the text of a command or a form, and the files. */

import { maxTextLength } from "@sekisho/contracts/limits.ts";
import * as z from "zod/mini";
import type { UserFile } from "../../task/messages.ts";
import {
  documentMimetypes,
  type SlackDocument,
  toSlackDocument,
} from "../../task/slack-documents.ts";
import { notationToMarkdown, removeBotMentions } from "../context/mrkdwn.ts";
import { createReading, textOf, toStorable } from "../context/values.ts";

/** True if `text` mentions one of `botUsers` (`<@U…>`, with or without a label). A typed `<@U…>` arrives escaped and does not count. */
export function isMentioned({
  text,
  botUsers,
}: {
  text: string;
  botUsers: readonly string[];
}): boolean {
  return botUsers.some((user) => text.includes(`<@${user}>`) || text.includes(`<@${user}|`));
}

/** True if the text mentions any user. */
export function hasMention(text: string): boolean {
  return /<@[A-Z0-9]/.test(text);
}

/**
 * Finds the app's own user of another workspace, as a list of one or none. In a Slack Connect channel, an `app_mention` may name
 * that user, although Slack lists only the user of one installation (`botUsers`). It is the only user that the text mentions, or
 * the user that the text starts with.
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
  const users = new Set(
    [...text.matchAll(/<@([A-Z0-9]+)/g)].flatMap(([, user = ""]) => (user === author ? [] : user)),
  );
  if (botUsers.some((user) => users.has(user))) return [];
  const [, first] = /^\s*<@([A-Z0-9]+)/.exec(text) ?? [];
  return [...users].filter((user) => users.size === 1 || user === first);
}

/** True if the text starts with a mention of a person, a user group or everyone, but not of the bot. */
export function isAddressedToOther({
  text,
  botUsers,
}: {
  text: string;
  botUsers: readonly string[];
}): boolean {
  const [, user] = /^\s*<(?:@([A-Z0-9]+)|!(?:subteam\^|here|channel|everyone))/.exec(text) ?? [
    undefined,
    "",
  ];
  return user !== "" && (user === undefined || !botUsers.includes(user));
}

/**
 * Reads the text of a command or a form, which has no formatting. Removes every mention of the bot with the blanks behind it, and converts
 * links and other mentions. A text above the contract's limit is cut to one character above it. It then fits into the queue and is still
 * too long, so the worker refuses it instead of running half of it.
 */
export function readUserText({
  text,
  botUsers,
}: {
  text: string;
  botUsers: readonly string[];
}): string {
  const reading = createReading({ botUsers });
  const convertedText = notationToMarkdown(textOf(text, reading), reading);
  return toStorable(
    removeBotMentions(convertedText)
      .trim()
      .slice(0, maxTextLength + 1),
  );
}

/** Above every configurable limit, so that the worker still notices that there are too many files. */
const maxFiles = 30;
const maxNameLength = 255;

/**
 * A text of 1 to `maxLength` UTF-16 units. The schemas of the ingress use few kinds of checks, because each adds to its bundle and so to
 * the time until its first answer.
 */
export function boundedText(maxLength: number) {
  return z.string().check(z.regex(new RegExp(`^.{1,${maxLength}}$`, "s")));
}

export const slackId = boundedText(64);

/** Almost all fields are optional, because Slack sends little more than the id of a file that the app cannot read. */
const fileSchema = z.object({
  id: slackId,
  name: z.nullish(z.string()),
  title: z.nullish(z.string()),
  mimetype: z.nullish(z.string()),
  size: z.nullish(z.unknown()),
  mode: z.nullish(z.string()),
  filetype: z.nullish(z.string()),
  file_access: z.nullish(z.string()),
  is_external: z.nullish(z.boolean()),
  url_private: z.nullish(z.string()),
  url_private_download: z.nullish(z.string()),
});

/** The file is deleted, too old for the workspace's plan, or stored outside of Slack. */
const absentModes: readonly unknown[] = ["tombstone", "hidden_by_limit", "external"];

/** The modes and types of Slack's documents. */
const documentKinds: ReadonlyMap<unknown, SlackDocument> = new Map([
  ["quip", "canvas"],
  ["canvas", "canvas"],
  ["list", "list"],
]);
/** Slack has decided about the file already. Any other file without an address, such as `check_file_info`, has to be looked up. */
const deniedAccess: readonly unknown[] = ["access_denied", "file_not_found"];

/**
 * Lists the files of a message (https://docs.slack.dev/reference/objects/file-object) for the queue. An unavailable file stays in
 * the list without `url`, so that its sender gets to know, and so does a document of Slack.
 */
export function readUserFiles(files: readonly unknown[]): UserFile[] {
  return files.slice(0, maxFiles).flatMap((each) => {
    const { data: file } = fileSchema.safeParse(each);
    const size = file?.size ?? 0;
    if (file === undefined || !isSize(size)) return [];
    const mimetype = readMimetype(file);
    const isDocument = toSlackDocument(mimetype) !== undefined;
    const isAbsent = Boolean(file.is_external) || absentModes.includes(file.mode) || isDocument;
    const url = isAbsent ? undefined : readFileUrl(file);
    return [
      {
        id: file.id,
        name: toStorable((file.name || file.title || file.id).slice(0, maxNameLength)),
        mimetype: toStorable(mimetype.slice(0, maxNameLength)),
        size,
        ...(url === undefined ? {} : { url }),
        ...(url === undefined && !isAbsent && !deniedAccess.includes(file.file_access)
          ? { isStub: true as const }
          : {}),
      },
    ];
  });
}

function readMimetype({ mimetype, mode, filetype }: z.infer<typeof fileSchema>): string {
  const document = documentKinds.get(mode) ?? documentKinds.get(filetype);
  return document === undefined
    ? mimetype || "application/octet-stream"
    : documentMimetypes[document];
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function readFileUrl({
  url_private_download,
  url_private,
}: z.infer<typeof fileSchema>): string | undefined {
  const url = url_private_download || url_private;
  // An address has no quotes or backslashes, of which JSON would make two characters each.
  return url && /^https?:\/\/[\x21\x23-\x5b\x5d-\x7e]{1,1000}$/.test(url) ? url : undefined;
}
