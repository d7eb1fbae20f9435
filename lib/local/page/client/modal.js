/** Forms in native dialogs: the modal that the bot has opened for the person, and the page's own. */
import { $, drawTree, h } from "../../web/dom.js";
import { act, errorBox } from "../../web/server.js";

let shown;

/** `modal` is undefined where the person has none. A modal that is shown stays as it is filled in. */
export function showModal(modal) {
  if (shown?.id === modal?.id) return;
  shown?.dialog.remove();
  shown = undefined;
  if (modal === undefined) return;
  shown = { id: modal.id, dialog: drawModal(modal) };
  document.body.append(shown.dialog);
  shown.dialog.showModal();
}

function drawModal({ id, ...modal }) {
  return drawDialog({
    ...modal,
    follow: (label) => void act("/local/modals/clicks", { id, label }),
    leave: () => void act("/local/modals/close", { id }),
    send: async (filled) => (await act("/local/modals", { id, filled_in: filled })).errors,
  });
}

/** Opens a form of the page. `send` gets what is filled in, by label, and rejects with what to show. */
export function openForm({ send, ...form }) {
  const opener = document.activeElement;
  const { key } = opener.dataset;
  const dialog = drawDialog({
    ...{ ...form, close: "Cancel", texts: [], links: [] },
    leave: () => dialog.close(),
    async send(filled) {
      await send(filled);
      dialog.close();
    },
  });
  dialog.onclose = () => {
    dialog.remove();
    // The page may have drawn the button anew, or may show another conversation.
    const drawn =
      key === undefined ? opener : document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    (drawn ?? $("text")).focus({ preventScroll: true });
  };
  document.body.append(dialog);
  dialog.showModal();
}

/** `send` resolves to an error text by input, if the form is not complete. `follow` gets the label of a link that is opened. */
function drawDialog({ title, submit, close, texts, links, inputs, follow, leave, send }) {
  const problem = errorBox("Not sent: ");
  const fields = inputs.map(drawInput);
  const form = h(
    "form.modal",
    h("h2", title),
    texts.map((text) => h("div.text", drawTree(text))),
    links.map(({ label, href }) => {
      const target = { href, target: "_blank", rel: "noopener noreferrer" };
      return h("p", h("a", { ...target, onclick: () => follow(label) }, label));
    }),
    fields.map(({ box }) => box),
    problem.box,
    h(
      "div.actions",
      h("button.quiet", { onclick: leave }, close ?? "Close"),
      submit !== undefined && h("button.primary", { type: "submit" }, submit),
    ),
  );
  form.onsubmit = async (event) => {
    event.preventDefault();
    const filled = fields.flatMap(({ label, read }) =>
      read() === "" || read().length === 0 ? [] : [[label, read()]],
    );
    const errors = (await problem.attempt(() => send(Object.fromEntries(filled)))) ?? {};
    for (const { blockId, complain } of fields) complain(errors[blockId] ?? "");
  };
  const dialog = h("dialog", { "aria-label": title }, form);
  dialog.oncancel = leave;
  return dialog;
}

let inputCount = 0;

function drawInput(input) {
  const { label, hint, isRequired = false, blockId, value } = input;
  const control = drawControl(input);
  inputCount += 1;
  Object.assign(control, { id: `input-${inputCount}`, required: isRequired });
  if (value !== undefined) control.value = value;
  const complaint = h("p.complaint", { role: "alert" });
  const box = h(
    "div.input",
    h("label", { htmlFor: control.id }, label, !isRequired && h("small", " (optional)")),
    control,
    hint !== undefined && h("p.soft", hint),
    complaint,
  );
  const read = () =>
    control.multiple ? [...control.selectedOptions].map(({ value }) => value) : control.value;
  const complain = (text) => {
    complaint.textContent = text;
  };
  return { label, blockId, box, read, complain };
}

function drawControl({ kind, isMultiline, maxLength, min, max, choices, isRequired }) {
  const options = () => choices.map((choice) => h("option", { value: choice }, choice));
  switch (kind) {
    case "static_select":
      return h("select", h("option", { value: "" }, isRequired ? "Choose…" : "—"), options());
    case "multi_static_select":
      return h(
        "select",
        { multiple: true, size: Math.min(6, Math.max(2, choices.length)) },
        options(),
      );
    case "number_input":
      return h("input", { type: "number", step: "any", min, max });
    case "datepicker":
      return h("input", { type: "date" });
    default:
      return h(isMultiline ? "textarea" : "input", {
        maxLength,
        rows: isMultiline ? 3 : undefined,
      });
  }
}
