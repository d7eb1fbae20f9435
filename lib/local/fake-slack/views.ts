/**
 * Modals of the fake Slack (https://docs.slack.dev/reference/views): which ones Slack accepts, by which trigger they are opened, and what
 * a person fills in.
 */
import * as z from "zod";
import { blockId, hasUniqueBlockIds, modalBlocks, plainText } from "./blocks.ts";
import { findTeamOfChannel, workspace } from "./workspace.ts";

const maxBlocks = 100;

const actionId = z.string().min(1).max(255);
const option = z.strictObject({
  text: plainText(75),
  value: z.string().min(1).max(150),
  description: plainText(75).optional(),
});
const options = z.array(option).min(1).max(100);
const element = {
  action_id: actionId.optional(),
  placeholder: plainText(150).optional(),
  focus_on_load: z.boolean().optional(),
};
const length = (min: number) => z.int().min(min).max(3000).optional();
const decimal = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .optional();
/** https://docs.slack.dev/reference/block-kit/block-elements, of the kinds that the app uses. */
const elementSchema = z.discriminatedUnion("type", [
  z.strictObject({
    ...element,
    type: z.literal("plain_text_input"),
    initial_value: z.string().optional(),
    multiline: z.boolean().optional(),
    min_length: length(0),
    max_length: length(1),
  }),
  z.strictObject({ ...element, type: z.literal("static_select"), options }),
  z.strictObject({
    ...element,
    type: z.literal("multi_static_select"),
    options,
    max_selected_items: z.int().min(1).optional(),
  }),
  z
    .strictObject({
      ...element,
      type: z.literal("number_input"),
      is_decimal_allowed: z.boolean(),
      initial_value: decimal,
      min_value: decimal,
      max_value: decimal,
    })
    .refine(
      ({ min_value: min, max_value: max }) =>
        min === undefined || max === undefined || Number(min) <= Number(max),
    ),
  z.strictObject({
    ...element,
    type: z.literal("datepicker"),
    initial_date: z.iso.date().optional(),
  }),
]);
type InputElement = z.infer<typeof elementSchema>;

/** https://docs.slack.dev/reference/block-kit/blocks/input-block. */
const inputSchema = z.strictObject({
  type: z.literal("input"),
  block_id: blockId,
  label: plainText(2000),
  element: elementSchema,
  hint: plainText(2000).optional(),
  optional: z.boolean().optional(),
  dispatch_action: z.boolean().optional(),
});

const viewSchema = z
  .strictObject({
    type: z.literal("modal"),
    title: plainText(24),
    close: plainText(24).optional(),
    submit: plainText(24).optional(),
    blocks: z.array(z.discriminatedUnion("type", [inputSchema, ...modalBlocks])).max(maxBlocks),
    private_metadata: z.string().max(3000).optional(),
    callback_id: z.string().max(255).optional(),
    external_id: z.string().max(255).optional(),
    clear_on_close: z.boolean().optional(),
    notify_on_close: z.boolean().optional(),
  })
  .refine(
    ({ submit, blocks }) => submit !== undefined || blocks.every(({ type }) => type !== "input"),
    {
      path: ["submit"],
      message: "is required with an input block",
    },
  )
  .refine(({ blocks }) => hasUniqueBlockIds(blocks), {
    path: ["blocks"],
    message: "block_id is not unique",
  });
export type FakeSlackView = z.infer<typeof viewSchema>;

/** An open modal. `channel` is where the person was. */
export type OpenModal = { id: string; user: string; channel: string; view: FakeSlackView };

/** The view, or a sentence that says what is wrong with it. */
export function parseView(json: unknown): { view: FakeSlackView } | { problem: string } {
  const { data: view, error } = viewSchema.safeParse(json);
  if (view !== undefined) return { view };
  const [issue] = error.issues;
  return { problem: `[ERROR] ${issue?.message} [json-pointer:/view/${issue?.path.join("/")}]` };
}

type Trigger = { user: string; channel: string; issuedAtMs: number; isExchanged: boolean };

export type ModalChange = { type: "modal"; user: string; modal: OpenModal | undefined };

type ModalsOptions = {
  now: () => number;
  triggerLifeMs: number;
  notify: (change: ModalChange) => void;
};

export function createModals({ now, triggerLifeMs, notify }: ModalsOptions) {
  const triggers = new Map<string, Trigger>();
  const open = new Map<string, OpenModal>();
  let views = 0;
  let viewCount = 0;

  return {
    /** A person did something that a modal may follow. */
    issue(ts: string, about: { user: string; channel: string }): string {
      viewCount++;
      const id = `${ts}.${viewCount}.${crypto.randomUUID().replaceAll("-", "")}`;
      triggers.set(id, { ...about, issuedAtMs: now(), isExchanged: false });
      return id;
    },
    /** Who may get a modal by the trigger, or Slack's error. */
    find(
      triggerId: string,
    ): Trigger | { error: "invalid_trigger_id" | "exchanged_trigger_id" | "expired_trigger_id" } {
      const trigger = triggers.get(triggerId);
      if (trigger === undefined) return { error: "invalid_trigger_id" };
      if (trigger.isExchanged) return { error: "exchanged_trigger_id" };
      return now() - trigger.issuedAtMs > triggerLifeMs ? { error: "expired_trigger_id" } : trigger;
    },
    open(trigger: Trigger, view: FakeSlackView): OpenModal {
      trigger.isExchanged = true;
      views++;
      const { user, channel } = trigger;
      const modal = { id: `V${String(views).padStart(8, "0")}`, user, channel, view };
      open.set(modal.id, modal);
      notify({ type: "modal", user, modal });
      return modal;
    },
    close({ id, user }: OpenModal): void {
      open.delete(id);
      notify({ type: "modal", user, modal: undefined });
    },
    all: () => [...open.values()],
  };
}

type ModalInput = {
  blockId: string;
  label: string;
  hint: string | undefined;
  isOptional: boolean;
  element: InputElement;
};

/** The elements of a modal that a person fills in, by the ids of their blocks. */
export function listInputs({ blocks }: FakeSlackView): ModalInput[] {
  return blocks.flatMap((block, index) => {
    if (block.type !== "input") return [];
    const { block_id: blockId = `b${index}`, label, hint, optional = false, element } = block;
    return [{ blockId, label: label.text, hint: hint?.text, isOptional: optional, element }];
  });
}

const errorsReply = z.strictObject({
  response_action: z.literal("errors"),
  errors: z.record(z.string(), z.string().min(1)),
});

/**
 * What is wrong with the inputs, by their blocks. Throws for a reply that Slack does not take: its client then says that it had trouble
 * connecting (https://docs.slack.dev/surfaces/modals#displaying_errors).
 */
export function readErrorsReply(
  view: FakeSlackView,
  reply: unknown,
): Readonly<Record<string, string>> | undefined {
  if (reply === undefined) return undefined;
  const { errors } = errorsReply.parse(reply);
  const ids = listInputs(view).map(({ blockId: id }) => id);
  const isOfInputs = Object.keys(errors).every((id) => ids.includes(id));
  if (!isOfInputs || Object.keys(errors).length === 0)
    throw new Error("The errors name no input of the modal.");
  return errors;
}

/** What a person has filled in, by the labels of the inputs: of choices their labels too. */
export type FilledIn = Readonly<Record<string, string | readonly string[]>>;

/** The modal as `views.open` and its submission show it. */
export function toViewPayload({ id, channel, view }: OpenModal, state: object = { values: {} }) {
  const {
    blocks,
    callback_id = "",
    private_metadata = "",
    external_id = "",
    ...otherFields
  } = view;
  const { id: team, enterprise = team } = findTeamOfChannel(channel);
  return {
    id,
    team_id: team,
    app_installed_team_id: enterprise,
    ...otherFields,
    blocks: blocks.map((block, index) => ({ block_id: `b${index}`, ...block })),
    callback_id,
    private_metadata,
    external_id,
    state,
    hash: `1.${id.slice(1)}`,
    previous_view_id: null,
    root_view_id: id,
    app_id: workspace.app,
    bot_id: workspace.bot,
  };
}

/** The `state` of a submitted modal. Throws for a label or a choice that the modal does not show. */
export function toViewState(view: FakeSlackView, filledIn: FilledIn) {
  const inputs = listInputs(view);
  const unknown = Object.keys(filledIn).find((label) =>
    inputs.every((input) => input.label !== label),
  );
  if (unknown !== undefined) throw new Error(`The modal has no input "${unknown}".`);
  const values = inputs.map(({ blockId, label, element }, index) => {
    const { type, action_id: id = `a${index}` } = element;
    return [blockId, { [id]: { type, ...toElementState(element, filledIn[label]) } }];
  });
  return { values: Object.fromEntries(values) };
}

function toElementState(element: InputElement, givenValue: string | readonly string[] | undefined) {
  const text = typeof givenValue === "string" ? givenValue : undefined;
  const choose = (label: string) => {
    const options = "options" in element ? element.options : [];
    const option = options.find((each) => each.text.text === label);
    if (option === undefined) throw new Error(`The modal has no choice "${label}".`);
    return option;
  };
  switch (element.type) {
    case "static_select":
      return { selected_option: text === undefined ? null : choose(text) };
    case "multi_static_select":
      return {
        selected_options: (typeof givenValue === "string" ? [givenValue] : (givenValue ?? [])).map(
          choose,
        ),
      };
    case "datepicker":
      return { selected_date: text ?? null };
    default:
      return { value: text ?? null };
  }
}
