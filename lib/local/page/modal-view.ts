/** A modal of the fake Slack as the page shows it. */
import { listButtons } from "../fake-slack/blocks.ts";
import { listInputs, type OpenModal } from "../fake-slack/views.ts";
import type { DisplayNode } from "../web/display-node.ts";
import { createMrkdwnTree } from "./display-tree.ts";
import { findDisplayName } from "./message-view.ts";

/** The page fills in a native control for each. `kind` is Slack's type of the element. */
type InputView = {
  label: string;
  hint: string | undefined;
  isRequired: boolean;
  kind: string;
  isMultiline: boolean;
  maxLength: number | undefined;
  min: string | undefined;
  max: string | undefined;
  choices: readonly string[];
  blockId: string;
};

export type ModalView = {
  id: string;
  user: string;
  title: string;
  /** Absent in a modal that only says something. */
  submit: string | undefined;
  close: string | undefined;
  texts: readonly (readonly DisplayNode[])[];
  /** Buttons that open an address. */
  links: readonly { label: string; href: string }[];
  inputs: readonly InputView[];
};

export function createModalView({ id, user, view }: OpenModal): ModalView {
  const inputs = listInputs(view).map(
    ({ blockId, label, hint, isOptional, element }): InputView => {
      const { multiline, max_length, min_value, max_value } = element as Partial<
        Record<string, unknown>
      >;
      return {
        blockId,
        label,
        hint,
        isRequired: !isOptional,
        kind: element.type,
        isMultiline: multiline === true,
        maxLength: typeof max_length === "number" ? max_length : undefined,
        min: typeof min_value === "string" ? min_value : undefined,
        max: typeof max_value === "string" ? max_value : undefined,
        choices: "options" in element ? element.options.map(({ text }) => text.text) : [],
      };
    },
  );
  const texts = view.blocks.flatMap((block) => {
    const shown =
      block.type === "section" ? [block.text] : block.type === "context" ? block.elements : [];
    return shown.length === 0
      ? []
      : [shown.flatMap(({ text }) => createMrkdwnTree(text, findDisplayName))];
  });
  const links = listButtons(view.blocks).flatMap(({ button: { text, url } }) =>
    url !== undefined && /^https?:/.test(url) ? [{ label: text.text, href: url }] : [],
  );
  return {
    id,
    user,
    title: view.title.text,
    submit: view.submit?.text,
    close: view.close?.text,
    texts,
    links,
    inputs,
  };
}
