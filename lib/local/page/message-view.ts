/** A message of the fake Slack as the page shows it. */

import { metadataSchema } from "../../../lambdas/verification/slack/api/posts.ts";
import { requestIdOf } from "../../../lambdas/verification/task/ids.ts";
import { buttonsOf, type FakeSlackBlock } from "../fake-slack/blocks.ts";
import type { FakeSlackMessage } from "../fake-slack/messages.ts";
import { channelOf, isOwnBot, otherBot, personOf, workspace } from "../fake-slack/workspace.ts";
import { markdownTree } from "./markdown-tree.ts";
import { mrkdwnTree } from "./mrkdwn-tree.ts";
import { emojiOf, node, type Shown } from "./shown.ts";

/** A message's parts, one below the other. `style` is Slack's. */
type Part =
  | { type: "text" | "context"; shown: readonly Shown[] }
  | { type: "buttons"; buttons: readonly { actionId: string; label: string; style: string | undefined }[] };

export type MessageView = {
  channel: string;
  ts: string;
  threadTs: string | undefined;
  author: { name: string; kind: "person" | "bot" };
  /** Of a person the page is one of. */
  user: string;
  edited: boolean;
  streaming: boolean;
  reactions: readonly { name: string; shown: string }[];
  parts: readonly Part[];
  files: readonly { id: string; name: string; size: number; isImage: boolean }[];
  requestId: string | undefined;
};

/** Images that a browser shows and that cannot hold a script. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function messageView(message: FakeSlackMessage): MessageView {
  const { channel, ts, threadTs, user, text, edited, reactions, blocks, files = [], stream } = message;
  const parts: Part[] =
    blocks === undefined
      ? text === ""
        ? []
        : [{ type: "text", shown: mrkdwnTree(text, nameOf) }]
      : blocks.flatMap((block) => partOf(block));
  return {
    channel,
    ts,
    threadTs,
    author: { name: nameOf(user), kind: personOf(user) === undefined ? "bot" : "person" },
    user,
    // As in Slack: an edit of blocks is not marked.
    edited: edited && blocks === undefined,
    streaming: stream?.state === "open",
    reactions: reactions.map((name) => ({ name, shown: emojiOf(name) })),
    parts,
    files: files.map(({ id, name, size, mimetype }) => ({ id, name, size, isImage: imageTypes.includes(mimetype) })),
    requestId: requestIdOfMessage(message),
  };
}

/** A person's message is a task's own; the bot's say which task they belong to. */
function requestIdOfMessage({ user, channel, ts, metadata }: FakeSlackMessage): string | undefined {
  if (personOf(user) !== undefined) return requestIdOf({ appId: workspace.app, channel, ts });
  return metadataSchema.parse(metadata)?.event_payload.request_id;
}

function partOf(block: FakeSlackBlock): Part[] {
  const { text, elements } = block as { text?: unknown; elements?: unknown };
  switch (block.type) {
    case "markdown":
      return [{ type: "text", shown: markdownTree(String(text)) }];
    case "section":
      return [{ type: "text", shown: textOf(text) }, ...buttonPart(block)];
    case "header":
      return [{ type: "text", shown: [node("h", textOf(text))] }];
    case "context":
      return [{ type: "context", shown: (elements as unknown[]).flatMap(textOf) }];
    case "actions":
      return buttonPart(block);
    case "divider":
      return [{ type: "text", shown: [node("hr")] }];
    case "table":
      return [{ type: "text", shown: [tableOf(block)] }];
    default:
      return [{ type: "context", shown: [`(a block of type ${block.type})`] }];
  }
}

function textOf(value: unknown): Shown[] {
  const { type, text } = Object(value) as { type?: unknown; text?: unknown };
  return type === "mrkdwn" ? mrkdwnTree(String(text), nameOf) : [String(text)];
}

function buttonPart(block: FakeSlackBlock): Part[] {
  const buttons = buttonsOf([block]).map(({ button: { action_id: actionId = "", text, style } }) => {
    return { actionId, label: text.text, style };
  });
  return buttons.length === 0 ? [] : [{ type: "buttons", buttons }];
}

function tableOf({ rows }: FakeSlackBlock): Shown {
  const cells = (row: unknown[]) => row.map((cell) => node("td", [String(Object(cell).text ?? "")]));
  return node(
    "table",
    (rows as unknown[][]).map((row) => node("tr", cells(row))),
  );
}

/** Of a user or a channel. */
export function nameOf(id: string): string {
  if (isOwnBot(id)) return "Sekisho";
  if (id === otherBot.user) return "Another app";
  return personOf(id)?.name ?? channelOf(id)?.name ?? id;
}
