/** A message of the fake Slack as the page shows it. */
import { metadataSchema } from "@sekisho/verification/slack/api/post-keys.ts";
import { readAttachments } from "@sekisho/verification/slack/context/attachments.ts";
import { blocksToMarkdown } from "@sekisho/verification/slack/context/blocks.ts";
import { createReading } from "@sekisho/verification/slack/context/values.ts";
import { type FakeSlackBlock, listButtons, listVotes } from "../fake-slack/blocks.ts";
import type { FakeSlackMessage } from "../fake-slack/messages.ts";
import { attachmentFields } from "../fake-slack/slack-message.ts";
import { findFakePerson, isOwnBot } from "../fake-slack/workspace.ts";
import { requestIdOfMessage } from "../recorder/slack-steps.ts";
import type { DisplayNode } from "../web/display-node.ts";
import type { MessagePart, MessageView } from "../web/local-events.ts";
import {
  createMarkdownTree,
  createMrkdwnTree,
  createNode,
  findDisplayName,
  findEmoji,
} from "./display-tree.ts";

/** Image types that a browser shows and that cannot contain a script. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function createMessageView(message: FakeSlackMessage): MessageView {
  const { channel, ts, threadTs, user, text, edited, reactions, blocks, files = [] } = message;
  const ownText: MessagePart[] =
    text === "" ? [] : [{ type: "text", shown: createMrkdwnTree(text) }];
  const parts = blocks?.flatMap((block) => toParts(block, message)) ?? ownText;
  return {
    ...{ channel, ts, threadTs },
    author: { name: findDisplayName(user), kind: kindOfAuthor(user) },
    agent: metadataSchema.parse(message.metadata)?.event_payload.destination,
    // As in Slack, an edit of blocks is not marked.
    edited: edited && blocks === undefined,
    streaming: message.stream?.state === "open",
    reactions: reactions.map((name) => ({ name, shown: findEmoji(name) })),
    parts: [...parts, ...attachmentParts(message)],
    files: files.map(({ id, name, size, mimetype }) => {
      return { id, name, size, isImage: imageTypes.includes(mimetype) };
    }),
    requestId: requestIdOfMessage(message),
  };
}

function kindOfAuthor(user: string): MessageView["author"]["kind"] {
  if (isOwnBot(user)) return "bot";
  return findFakePerson(user) === undefined ? "other_app" : "person";
}

/** Shows attachments and forwarded messages as the agent reads them. */
function attachmentParts(message: FakeSlackMessage): MessagePart[] {
  const { attachments } = attachmentFields({ message, filesUrl: "" });
  const reading = createReading({ botUsers: [] });
  const { own, forwards } = readAttachments(attachments, { reading, isShareMessage: false });
  const texts = [...own, ...forwards].filter((text) => text !== "");
  return texts.map((text) => ({ type: "attachment", shown: createMarkdownTree(text) }));
}

const signs: Readonly<Record<string, string>> = {
  pending: "○",
  in_progress: "▸",
  complete: "✓",
  error: "✗",
};

function toParts(block: FakeSlackBlock, message: FakeSlackMessage): MessagePart[] {
  const { text, title, elements = [], tasks = [], status } = block as Record<string, unknown>;
  switch (block.type) {
    case "markdown":
      return [{ type: "text", shown: createMarkdownTree(String(text)) }];
    case "section":
      return [{ type: "text", shown: textOf(text) }, ...buttonParts(block)];
    case "header":
      return [{ type: "text", shown: [createNode("h", textOf(text))] }];
    case "context":
      return [{ type: "context", shown: (elements as unknown[]).flatMap(textOf) }];
    case "actions":
      return buttonParts(block);
    case "context_actions":
      return [{ type: "votes", buttons: votesOf(block, message) }];
    case "divider":
      return [{ type: "text", shown: [createNode("hr")] }];
    case "plan": {
      const heading = createNode("p", [createNode("strong", [String(title)])]);
      const cards = (tasks as FakeSlackBlock[]).flatMap((card) => toParts(card, message));
      return [{ type: "text", shown: [heading] }, ...cards];
    }
    case "task_card":
      return [{ type: "text", shown: [`${signs[String(status)] ?? "○"} ${title}`] }];
    default:
      // Tables and rich text, and blocks that came later, as the agent reads them.
      return otherParts(block);
  }
}

function otherParts(block: FakeSlackBlock): MessagePart[] {
  const text = blocksToMarkdown([block], createReading({ botUsers: [] }));
  if (text !== "") return [{ type: "text", shown: createMarkdownTree(text) }];
  return [{ type: "context", shown: [`(a block of type ${block.type})`] }];
}

function textOf(value: unknown): DisplayNode[] {
  const { type, text } = Object(value) as { type?: unknown; text?: unknown };
  return type === "mrkdwn" ? createMrkdwnTree(String(text)) : [String(text)];
}

function buttonParts(block: FakeSlackBlock): MessagePart[] {
  const buttons = listButtons([block]).map(({ button: { action_id = "", text, style } }) => {
    return { actionId: action_id, label: text.text, style };
  });
  return buttons.length === 0 ? [] : [{ type: "buttons", buttons }];
}

const thumbs = ["👍", "👎"];

function votesOf(block: FakeSlackBlock, { votes = {} }: FakeSlackMessage) {
  return listVotes([block]).map(({ button: { action_id: actionId = "", text, value } }, index) => {
    const voters = Object.keys(votes).filter((user) => votes[user] === value);
    return { actionId, label: `${thumbs[index % 2]} ${text.text}`, value, voters };
  });
}
