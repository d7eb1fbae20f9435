/** Checks blocks as Slack does (https://docs.slack.dev/reference/block-kit/blocks), for the kinds that the app uses. */
import * as z from "zod";

export type FakeSlackBlock = Readonly<{ type: string } & Record<string, unknown>>;

const maxBlocks = 50;
/** All markdown blocks of a message together. */
const maxMarkdownLength = 12_000;

/**
 * Undocumented: Slack refuses a message whose blocks hold more text than this together. Each block counts as well
 * (https://github.com/slackapi/bolt-js/issues/2509).
 */
const maxMessageLength = 13_297;
const lengthOfBlock = 125;

/** The id of a block or an element. */
export const blockId = z.string().min(1).max(255).optional();
const name = blockId;
const textUpTo = (max: number) => z.string().min(1).max(max);
export const plainText = (max: number) =>
  z.strictObject({
    type: z.literal("plain_text"),
    text: textUpTo(max),
    emoji: z.boolean().optional(),
  });
/** Stricter than Slack, which would make links and mentions of plain text without `verbatim`. */
const mrkdwn = z.strictObject({
  type: z.literal("mrkdwn"),
  text: textUpTo(3000),
  verbatim: z.literal(true),
});
const anyText = z.discriminatedUnion("type", [plainText(3000), mrkdwn]);
const style = z.enum(["primary", "danger"]).optional();
const confirm = {
  title: plainText(100),
  text: anyText,
  confirm: plainText(30),
  deny: plainText(30),
  style,
};
const buttonSchema = z.strictObject({
  type: z.literal("button"),
  text: plainText(75),
  action_id: name,
  value: z.string().max(2000).optional(),
  url: z.url().max(3000).optional(),
  style,
  accessibility_label: z.string().max(75).optional(),
  confirm: z.strictObject(confirm).optional(),
});
export type FakeSlackButton = z.infer<typeof buttonSchema>;

const voteSchema = z.strictObject({
  text: plainText(75),
  accessibility_label: z.string().max(75).optional(),
  value: z.string().max(2000),
});
/** https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element */
const feedbackSchema = z.strictObject({
  type: z.literal("feedback_buttons"),
  action_id: name,
  positive_button: voteSchema,
  negative_button: voteSchema,
});

const buttonsSchema = z
  .array(buttonSchema)
  .min(1)
  .max(25)
  .refine(
    (buttons) =>
      new Set(buttons.map((button) => button.action_id ?? button)).size === buttons.length,
  );
const rowsSchema = z.array(z.array(z.unknown()).max(20)).min(1).max(100);

function kind<Type extends string>(type: Type) {
  return { type: z.literal(type), block_id: name };
}
/** https://docs.slack.dev/reference/block-kit/blocks/task-card-block */
const taskCardSchema = z.strictObject({
  ...kind("task_card"),
  task_id: textUpTo(255),
  title: textUpTo(255),
  status: z.enum(["pending", "in_progress", "complete", "error"]),
});
const cardsSchema = z
  .array(taskCardSchema)
  .min(1)
  .refine(
    (cards) => new Set(cards.map(({ task_id }) => task_id)).size === cards.length,
    "task_id is not unique",
  );
/** The blocks that a modal may have, too. */
export const modalBlocks = [
  z.strictObject({
    ...kind("section"),
    text: anyText,
    accessory: buttonSchema.optional(),
    expand: z.boolean().optional(),
  }),
  z.strictObject({ ...kind("context"), elements: z.array(anyText).min(1).max(10) }),
  z.strictObject({ ...kind("actions"), elements: buttonsSchema }),
  z.strictObject(kind("divider")),
  z.strictObject({ ...kind("header"), text: plainText(150) }),
] as const;

const blockSchema = z.discriminatedUnion("type", [
  ...modalBlocks,
  taskCardSchema,
  z.strictObject({ ...kind("context_actions"), elements: z.array(feedbackSchema).min(1).max(5) }),
  z.strictObject({ ...kind("plan"), title: textUpTo(255), tasks: cardsSchema }),
  z.strictObject({ ...kind("markdown"), text: textUpTo(maxMarkdownLength) }),
  z.looseObject({ ...kind("rich_text"), elements: z.array(z.unknown()) }),
  z.looseObject({ ...kind("table"), rows: rowsSchema }),
]);

const blocksSchema = z.array(blockSchema).max(maxBlocks);

const blocksOfMessages = ["markdown", "plan", "task_card", "table", "context_actions"];

/** https://docs.slack.dev/reference/views/home-tab-views. */
const homeViewSchema = z.strictObject({
  type: z.literal("home"),
  blocks: z
    .array(blockSchema.refine(({ type }) => !blocksOfMessages.includes(type)))
    .max(100)
    .refine(hasUniqueBlockIds, "block_id is not unique"),
  private_metadata: z.string().max(3000).optional(),
  callback_id: z.string().max(255).optional(),
  external_id: z.string().max(255).optional(),
});

export function parseHomeView(
  json: unknown,
): { blocks: readonly FakeSlackBlock[] } | { problem: string } {
  const { data, error } = homeViewSchema.safeParse(json);
  if (data !== undefined) return { blocks: data.blocks };
  const [issue] = error.issues;
  return { problem: `[ERROR] ${issue?.message} [json-pointer:/view/${issue?.path.join("/")}]` };
}

type GivenBlocks = { json: unknown; refusesMarkdown: boolean };

/** The blocks, or a sentence that says what is wrong with them. */
export function parseBlocks({
  json,
  refusesMarkdown,
}: GivenBlocks): { blocks: readonly FakeSlackBlock[] } | { problem: string } {
  const result = blocksSchema.safeParse(json);
  if (!result.success) {
    const [issue] = result.error.issues;
    return { problem: `[ERROR] ${issue?.message} [json-pointer:/blocks/${issue?.path.join("/")}]` };
  }
  const blocks = result.data;
  if (!hasUniqueBlockIds(blocks)) return { problem: "[ERROR] block_id is not unique" };
  if (blocks.filter(({ type }) => type === "table").length > 1)
    return { problem: "[ERROR] only one table is allowed" };
  const markdown = blocks.flatMap((block) => (block.type === "markdown" ? block.text : []));
  if (refusesMarkdown && markdown.length > 0)
    return { problem: "[ERROR] unsupported type: markdown" };
  if (markdown.join("").length > maxMarkdownLength)
    return { problem: "[ERROR] markdown blocks: more than 12000 characters" };
  return { blocks };
}

export function hasUniqueBlockIds(blocks: readonly { block_id?: string | undefined }[]): boolean {
  const ids = blocks.flatMap(({ block_id }) => block_id ?? []);
  return new Set(ids).size === ids.length;
}

/** True if the blocks together are too long for a message, although each of them is within its limits. */
export function isTooLong(blocks: readonly FakeSlackBlock[]): boolean {
  return sumOfTexts(blocks) + lengthOfBlock * blocks.length > maxMessageLength;
}

function sumOfTexts(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const lengths = Object.entries(value).map(([name, member]) =>
    (name === "text" || name === "title") && typeof member === "string"
      ? member.length
      : sumOfTexts(member),
  );
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** All buttons of a message, each with its block. */
export function listButtons(
  blocks: readonly FakeSlackBlock[],
): { blockId: string; button: FakeSlackButton }[] {
  return blocks.flatMap((block, index) => {
    const elements =
      block.type === "actions" ? block.elements : block.type === "section" ? [block.accessory] : [];
    const blockIdOf = typeof block.block_id === "string" ? block.block_id : `b${index}`;
    return (elements as unknown[]).flatMap((each) => {
      const button = buttonSchema.safeParse(each).data;
      return button === undefined ? [] : [{ blockId: blockIdOf, button }];
    });
  });
}

/** A click on a vote names the element and the value of the vote. */
export type FakeSlackVote = Pick<z.infer<typeof feedbackSchema>, "type" | "action_id"> &
  z.infer<typeof voteSchema>;

/** The votes that a message offers, each with its block: first the positive one. */
export function listVotes(
  blocks: readonly FakeSlackBlock[],
): { blockId: string; button: FakeSlackVote }[] {
  return blocks.flatMap((block, index) => {
    const elements =
      block.type === "context_actions" ? z.array(feedbackSchema).parse(block.elements) : [];
    const blockId = typeof block.block_id === "string" ? block.block_id : `b${index}`;
    return elements.flatMap(({ type, action_id, positive_button, negative_button }) =>
      [positive_button, negative_button].map((vote) => ({
        blockId,
        button: { type, action_id, ...vote },
      })),
    );
  });
}
