/**
 * Reads the attachments of a message. They are content of its own (most alerts are written there), messages that a person forwards,
 * and previews of links.
 */

import { cutText } from "@sekisho/contracts/limits.ts";
import { sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";
import { blocksToMarkdown } from "./blocks.ts";
import { mrkdwnToMarkdown, notationToMarkdown, writeLink } from "./mrkdwn.ts";
import { cleanName, writeId } from "./names.ts";
import {
  type Fields,
  fieldsOf,
  idOf,
  joinLines,
  joinParagraphs,
  listOf,
  quote,
  quotedReading,
  type Reading,
  textOf,
  toIsoDate,
} from "./values.ts";
import { noPreview, wordsOf } from "./words.ts";

export type AttachmentTexts = {
  own: string[];
  /** With their attributions. */
  forwards: string[];
  /** One line each. */
  previews: string[];
};

/** Slack marks a forwarded message with `is_share`. A message of the subtype `message_share` may come without that mark. */
export function isForward(
  { is_share, is_msg_unfurl }: Fields,
  { isShareMessage }: { isShareMessage: boolean },
): boolean {
  return is_share === true || (isShareMessage && is_msg_unfurl === true);
}

export function readAttachments(
  attachments: unknown,
  {
    reading,
    isShareMessage,
    depth = 0,
  }: { reading: Reading; isShareMessage: boolean; depth?: number },
): AttachmentTexts {
  const texts: AttachmentTexts = { own: [], forwards: [], previews: [] };
  for (const each of listOf(attachments, reading)) {
    const attachment = fieldsOf(each);
    const quotedContext = quotedReading(reading);
    if (isForward(attachment, { isShareMessage }))
      texts.forwards.push(forwardText(attachment, quotedContext, depth));
    else if (isPreview(attachment)) texts.previews.push(previewLine(attachment, quotedContext));
    else texts.own.push(ownText(attachment, reading));
  }
  return texts;
}

/** Slack or an app added it because the message has a link. */
function isPreview(attachment: Fields): boolean {
  const flags = ["is_msg_unfurl", "is_reply_unfurl", "is_thread_root_unfurl", "is_app_unfurl"];
  const addresses = ["app_unfurl_url", "from_url", "original_url"];
  return (
    flags.some((name) => attachment[name] === true) ||
    addresses.some((name) => typeof attachment[name] === "string")
  );
}

const maxPreviewLength = 300;

function previewLine(attachment: Fields, reading: Reading): string {
  const [author, title] = ["author_name", "title"].map((name) =>
    notationToMarkdown(textOf(attachment[name], reading), reading),
  );
  const text = wordsOf(attachment, { reading, isApp: true }) || fallbackOf(attachment, reading);
  const words = [author, title, text]
    .filter((part) => part !== undefined && part.trim() !== "")
    .join(": ");
  const line = words.replace(/\s+/g, " ").trim();
  return line === "" ? "" : cutText(`Link preview: ${line}`, maxPreviewLength);
}

/** Forwards in forwards are read to this level. */
const maxForwardDepth = 3;

/**
 * Returns the quotation below a line that names its author, channel and time. Only the copy in the attachment is read, because the bot
 * may see more than the person, or less.
 */
function forwardText(attachment: Fields, reading: Reading, depth: number): string {
  const { author_name, author_subname, author_id, channel_name, channel_id, ts } = attachment;
  const name = textOf(author_name, reading) || textOf(author_subname, reading);
  const author = writeOrigin({ sign: "@", name, id: author_id });
  const channel = writeOrigin({ sign: "#", name: textOf(channel_name, reading), id: channel_id });
  const date = toIsoDate(ts);
  const origin = [
    "Forwarded message",
    ...(author === "" ? [] : [`from ${author}`]),
    ...(channel === "" ? [] : [`in ${channel}`]),
    ...(date === undefined ? [] : [`(${date})`]),
  ];
  const nestedTexts =
    depth < maxForwardDepth
      ? readAttachments(attachment.attachments, {
          reading,
          isShareMessage: false,
          depth: depth + 1,
        })
      : { own: [], forwards: [] };
  const files = listOf(attachment.files, reading).map((file) => {
    const { name: fileName, title } = fieldsOf(file);
    const label = cleanName(textOf(fileName, reading) || textOf(title, reading));
    return label === "" ? "(file)" : `(file: ${label})`;
  });
  const isEmpty = [...nestedTexts.own, ...nestedTexts.forwards].every((text) => text === "");
  // The fallback only sums up what is in the attachments of the copy.
  const body = forwardBody(isEmpty ? attachment : { ...attachment, fallback: "" }, reading);
  const words = joinParagraphs([
    body,
    ...nestedTexts.own,
    joinLines(files),
    ...nestedTexts.forwards,
  ]);
  return `${origin.join(" ")}:\n${quote(sanitizeLines(words === "" ? "(no text)" : words))}`;
}

function writeOrigin({
  sign,
  name,
  id: value,
}: {
  sign: "@" | "#";
  name: string;
  id: unknown;
}): string {
  const id = idOf(value);
  // Slack calls every direct message "Direct Message".
  if (sign === "#" && id.startsWith("D")) return "a direct message";
  const label = cleanName(name).replace(/^[@#]+/, "");
  if (label !== "") return sign === "#" ? `#${label}` : label;
  return id === "" ? "" : writeId({ sign, id });
}

/** Slack copies the blocks of the message, and the fields of an attachment if the message has one. */
function forwardBody(attachment: Fields, reading: Reading): string {
  const copies = listOf(attachment.message_blocks, reading).map(
    (copy) => fieldsOf(fieldsOf(copy).message).blocks,
  );
  const blocks = [...copies, attachment.blocks].flatMap((each) => listOf(each, reading));
  // The copy of a person's message may have either.
  const words = wordsOf({ text: attachment.text, blocks }, { reading, isApp: true });
  return legacyText({ ...attachment, author_name: "", footer: "", ts: "" }, { words, reading });
}

function ownText(attachment: Fields, reading: Reading): string {
  const { color } = attachment;
  const text = legacyText(attachment, {
    words: wordsOf(attachment, { reading, isApp: true }),
    reading,
  });
  const severity =
    color === "good" || color === "warning" || color === "danger" ? `(${color}) ` : "";
  return text === "" ? "" : `${severity}${text}`;
}

function fallbackOf({ fallback }: Fields, reading: Reading): string {
  const text = notationToMarkdown(textOf(fallback, reading), reading);
  return text === noPreview ? "" : text;
}

/** Returns what Slack shows of an attachment, in its order. `words` are its text and blocks. */
function legacyText(
  attachment: Fields,
  { words, reading }: { words: string; reading: Reading },
): string {
  const plain = (name: string) => notationToMarkdown(textOf(attachment[name], reading), reading);
  const mrkdwn = (value: unknown) => mrkdwnToMarkdown(textOf(value, reading), reading);
  const { pretext, title_link, author_link, fields, actions, image_url, thumb_url, ts } =
    attachment;
  const rows = listOf(fields, reading).map((field) => {
    const { title, value } = fieldsOf(field);
    return [mrkdwn(title), mrkdwn(value)].filter((part) => part.trim() !== "").join(": ");
  });
  const hasImage = typeof image_url === "string" || typeof thumb_url === "string";
  const content = joinLines([
    mrkdwn(pretext),
    writeLink({ url: textOf(author_link, reading), label: plain("author_name") }),
    writeLink({ url: textOf(title_link, reading), label: plain("title") }),
    words,
    ...rows,
    blocksToMarkdown([{ type: "actions", elements: actions }], reading),
  ]);
  const footer = [plain("footer"), toIsoDate(ts) ?? ""].filter((part) => part !== "").join(" ");
  const body = content || fallbackOf(attachment, reading) || (hasImage ? "(image)" : "");
  return joinLines([body, footer]);
}
