/** A message of the fake Slack as the page shows it. */
import { readAttachments } from "@sekisho/verification/slack/context/attachments.ts";
import { createReading } from "@sekisho/verification/slack/context/values.ts";
import { type FakeSlackBlock, listButtons, listVotes } from "../fake-slack/blocks.ts";
import type { FakeSlackMessage } from "../fake-slack/messages.ts";
import { attachmentFields } from "../fake-slack/slack-message.ts";
import {
  findFakeChannel,
  findFakePerson,
  groups,
  isOwnBot,
  otherBot,
  workflow,
} from "../fake-slack/workspace.ts";
import { requestIdOfMessage } from "../recorder/slack-steps.ts";
import type { DisplayNode } from "../web/display-node.ts";
import { createMarkdownTree, createMrkdwnTree, createNode, findEmoji } from "./display-tree.ts";

/** One part of a message. The page shows them one below the other. `style` is Slack's. */
type Part =
  | { type: "text" | "context" | "attachment"; shown: readonly DisplayNode[] }
  | {
      type: "buttons";
      buttons: readonly { actionId: string; label: string; style: string | undefined }[];
    }
  /** `voters` are those whose vote it is. */
  | {
      type: "votes";
      votes: readonly {
        actionId: string;
        label: string;
        value: string;
        voters: readonly string[];
      }[];
    };

export type MessageView = {
  channel: string;
  ts: string;
  threadTs: string | undefined;
  author: { name: string; kind: "person" | "bot" | "other_app" };
  edited: boolean;
  streaming: boolean;
  reactions: readonly { name: string; shown: string }[];
  parts: readonly Part[];
  files: readonly { id: string; name: string; size: number; isImage: boolean }[];
  requestId: string | undefined;
};

/** Image types that a browser shows and that cannot contain a script. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function createMessageView(message: FakeSlackMessage): MessageView {
  const {
    channel,
    ts,
    threadTs,
    user,
    text,
    edited,
    reactions,
    blocks,
    files = [],
    stream,
  } = message;
  const plain: Part[] =
    text === "" ? [] : [{ type: "text", shown: createMrkdwnTree(text, findDisplayName) }];
  return {
    channel,
    ts,
    threadTs,
    author: { name: findDisplayName(user), kind: kindOfAuthor(user) },
    // As in Slack, an edit of blocks is not marked.
    edited: edited && blocks === undefined,
    streaming: stream?.state === "open",
    reactions: reactions.map((name) => ({ name, shown: findEmoji(name) })),
    parts: [
      ...(blocks?.flatMap((block) => partOf(block, message)) ?? plain),
      ...attachmentParts(message),
    ],
    files: files.map(({ id, name, size, mimetype }) => ({
      id,
      name,
      size,
      isImage: imageTypes.includes(mimetype),
    })),
    requestId: requestIdOfMessage(message),
  };
}

function kindOfAuthor(user: string): MessageView["author"]["kind"] {
  if (isOwnBot(user)) return "bot";
  return findFakePerson(user) === undefined ? "other_app" : "person";
}

/** Shows attachments and forwarded messages as the agent reads them. */
function attachmentParts(message: FakeSlackMessage): Part[] {
  const { attachments } = attachmentFields({ message, filesUrl: "" });
  const reading = createReading({ botUsers: [] });
  const { own, forwards } = readAttachments(attachments, { reading, isShareMessage: false });
  const texts = [...own, ...forwards].filter((text) => text !== "");
  return texts.map((text) => ({ type: "attachment", shown: createMarkdownTree(text) }));
}

function partOf(block: FakeSlackBlock, message: FakeSlackMessage): Part[] {
  const { text, elements } = block as { text?: unknown; elements?: unknown };
  switch (block.type) {
    case "markdown":
      return [{ type: "text", shown: createMarkdownTree(String(text)) }];
    case "section":
      return [{ type: "text", shown: textOf(text) }, ...buttonPart(block)];
    case "header":
      return [{ type: "text", shown: [createNode("h", textOf(text))] }];
    case "context":
      return [{ type: "context", shown: (elements as unknown[]).flatMap(textOf) }];
    case "actions":
      return buttonPart(block);
    case "context_actions":
      return [{ type: "votes", votes: votesOf(block, message) }];
    case "divider":
      return [{ type: "text", shown: [createNode("hr")] }];
    case "table":
      return [{ type: "text", shown: [tableOf(block)] }];
    default:
      return [{ type: "context", shown: [`(a block of type ${block.type})`] }];
  }
}

function textOf(value: unknown): DisplayNode[] {
  const { type, text } = Object(value) as { type?: unknown; text?: unknown };
  return type === "mrkdwn" ? createMrkdwnTree(String(text), findDisplayName) : [String(text)];
}

function buttonPart(block: FakeSlackBlock): Part[] {
  const buttons = listButtons([block]).map(
    ({ button: { action_id: actionId = "", text, style } }) => {
      return { actionId, label: text.text, style };
    },
  );
  return buttons.length === 0 ? [] : [{ type: "buttons", buttons }];
}

const thumbs = ["👍", "👎"];

function votesOf(block: FakeSlackBlock, { votes = {} }: FakeSlackMessage) {
  return listVotes([block]).map(({ button: { action_id: actionId = "", text, value } }, index) => {
    const voters = Object.keys(votes).filter((user) => votes[user] === value);
    return { actionId, label: `${thumbs[index % 2]} ${text.text}`, value, voters };
  });
}

function tableOf({ rows }: FakeSlackBlock): DisplayNode {
  const cells = (row: unknown[]) =>
    row.map((cell) => createNode("td", [String(Object(cell).text ?? "")]));
  return createNode(
    "table",
    (rows as unknown[][]).map((row) => createNode("tr", cells(row))),
  );
}

/** The name of a user, a user group or a channel. */
export function findDisplayName(id: string): string {
  if (isOwnBot(id)) return "Sekisho";
  if (id === otherBot.user) return otherBot.name;
  if (id === workflow.bot) return workflow.name;
  const group = groups.find((each) => each.id === id);
  if (group !== undefined) return group.handle;
  return findFakePerson(id)?.name ?? findFakeChannel(id)?.name ?? id;
}
