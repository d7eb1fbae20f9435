/** A modal of the fake Slack as the page shows it. */
import { listButtons } from "../fake-slack/blocks.ts";
import { listInputs, type OpenModal } from "../fake-slack/views.ts";
import type { InputView, ModalView } from "../web/local-events.ts";
import { createMrkdwnTree } from "./display-tree.ts";

export function createModalView({ id, view }: OpenModal): ModalView {
  const texts = view.blocks.flatMap((block) => {
    if (block.type === "section") return [createMrkdwnTree(block.text.text)];
    if (block.type !== "context") return [];
    return [block.elements.flatMap(({ text }) => createMrkdwnTree(text))];
  });
  const links = listButtons(view.blocks).flatMap(({ button: { text, url } }) =>
    url !== undefined && /^https?:/.test(url) ? [{ label: text.text, href: url }] : [],
  );
  return {
    id,
    title: view.title.text,
    submit: view.submit?.text,
    close: view.close?.text,
    texts,
    links,
    inputs: listInputs(view).map(toInputView),
  };
}

function toInputView(input: ReturnType<typeof listInputs>[number]): InputView {
  const { blockId, label, hint, isOptional, element } = input;
  const { multiline, max_length, min_value, max_value } = element as Partial<
    Record<string, unknown>
  >;
  return {
    ...{ blockId, label, hint },
    isRequired: !isOptional,
    kind: element.type,
    isMultiline: multiline === true,
    maxLength: typeof max_length === "number" ? max_length : undefined,
    min: typeof min_value === "string" ? min_value : undefined,
    max: typeof max_value === "string" ? max_value : undefined,
    choices: "options" in element ? element.options.map(({ text }) => text.text) : [],
  };
}
