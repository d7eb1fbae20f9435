/** Forms in native dialogs: the modal that the bot has opened for a person, and the page's own. */
import type { TargetedEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { InputView, ModalView } from "../../local-events.ts";
import { Problem, Tree } from "../elements.tsx";
import { act } from "../server.ts";

/** What a person filled in, by label. Empty inputs are left out. */
export type FilledIn = Readonly<Record<string, string | string[]>>;

type DialogProps = Omit<ModalView, "id" | "texts" | "links"> &
  Partial<Pick<ModalView, "texts" | "links">> & {
    /** Resolves to an error text by input if the form is not complete. Rejects with what went wrong. */
    send: (filledIn: FilledIn) => Promise<Readonly<Record<string, string>> | undefined>;
    leave: () => void;
    /** Called with the label of a link that is opened. */
    follow?: (label: string) => void;
  };

function Dialog(props: DialogProps) {
  const { title, submit, close = "Close", texts = [], links = [], inputs, follow, leave } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      const isThere = opener instanceof HTMLElement && opener.isConnected;
      (isThere ? opener : document.getElementById("text"))?.focus();
    };
  }, []);

  const onSubmit = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const filledIn = inputs.flatMap(({ label, kind }) => {
      const values = data.getAll(label).map(String);
      const isEmpty = values.every((value) => value === "");
      if (isEmpty) return [];
      return [[label, kind === "multi_static_select" ? values : (values[0] ?? "")] as const];
    });
    setProblem("");
    try {
      setErrors((await props.send(Object.fromEntries(filledIn))) ?? {});
    } catch (error) {
      setProblem(`Not sent: ${error instanceof Error ? error.message : error}`);
    }
  };
  const onCancel = (event: Event) => {
    event.preventDefault();
    leave();
  };
  return (
    <dialog ref={dialog} aria-label={title} onCancel={onCancel}>
      <form class="modal" onSubmit={onSubmit}>
        <h2>{title}</h2>
        {texts.map((text, index) => (
          <div key={index} class="text">
            <Tree nodes={text} />
          </div>
        ))}
        {links.map(({ label, href }) => (
          <p key={label}>
            <a
              href={href}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() => follow?.(label)}
            >
              {label}
            </a>
          </p>
        ))}
        {inputs.map((input) => (
          <Input key={input.label} {...input} error={errors[input.blockId ?? ""]} />
        ))}
        <Problem text={problem} />
        <div class="actions">
          <button type="button" class="quiet" onClick={leave}>
            {close}
          </button>
          {submit !== undefined && (
            <button type="submit" class="primary">
              {submit}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

function Input({ error, ...input }: InputView & { error: string | undefined }) {
  const id = useId();
  const { label, hint, isRequired = false } = input;
  return (
    <div class="input">
      <label htmlFor={id}>
        {label}
        {!isRequired && <small> (optional)</small>}
      </label>
      <Control id={id} {...input} />
      {hint !== undefined && <p class="soft">{hint}</p>}
      <p class="complaint" role="alert">
        {error}
      </p>
    </div>
  );
}

function Control({ id, ...input }: InputView & { id: string }) {
  const { kind, label, isRequired: required, isMultiline, maxLength, min, max, value } = input;
  const { choices = [] } = input;
  const common = { id, name: label, required };
  // Initial values only: what a person has filled in stays when the page is drawn again.
  const options = choices.map((choice) => (
    <option key={choice} selected={choice === value}>
      {choice}
    </option>
  ));
  switch (kind) {
    case "static_select":
      return (
        <select {...common}>
          <option value="">{required ? "Choose…" : "—"}</option>
          {options}
        </select>
      );
    case "multi_static_select":
      return (
        <select {...common} multiple size={Math.min(6, Math.max(2, choices.length))}>
          {options}
        </select>
      );
    case "number_input":
      return <input {...common} type="number" step="any" min={min} max={max} />;
    case "datepicker":
      return <input {...common} type="date" />;
    default:
      return isMultiline ? (
        <textarea {...common} rows={3} maxLength={maxLength} defaultValue={value} />
      ) : (
        <input {...common} maxLength={maxLength} defaultValue={value} />
      );
  }
}

/** The modal that the bot has opened. */
export function Modal({ id, ...view }: ModalView) {
  const send = async (filledIn: FilledIn) => {
    const sending = act<{ errors?: Record<string, string> }>("/local/modals", {
      id,
      filled_in: filledIn,
    });
    return (await sending).errors;
  };
  return (
    <Dialog
      {...view}
      send={send}
      follow={(label) => void act("/local/modals/clicks", { id, label })}
      leave={() => void act("/local/modals/close", { id })}
    />
  );
}

const text = { kind: "plain_text_input" } as const;
const choice = { kind: "static_select", isRequired: true } as const;

/** An alert as monitoring apps post it. */
const alertInputs: readonly InputView[] = [
  { ...text, label: "Title", isRequired: true, value: "[FIRING:1] DiskFull (web-3)" },
  {
    ...{ ...text, label: "Text", isMultiline: true, isRequired: true },
    value: "*Summary:* the disk of `web-3` is 97 % full and growing.",
  },
  { ...choice, label: "Severity", choices: ["danger", "warning", "good"], value: "danger" },
  {
    ...{ ...text, label: "Fields", isMultiline: true, hint: "One per line, such as Host: web-3" },
    value: "Host: web-3\nSince: 09:00 UTC",
  },
];

/** Posts an alert in the channel, as another app. */
export function AlertForm({ channel, leave }: { channel: string; leave: () => void }) {
  const send = async ({ Title: title, Text: body, Severity: color, Fields: lines }: FilledIn) => {
    const fields = String(lines ?? "")
      .split("\n")
      .flatMap((line) => {
        const [name = "", ...value] = line.split(":");
        return name.trim() === "" ? [] : [{ title: name, value: value.join(":") }];
      });
    await act("/local/alerts", { channel, title, text: body, color, fields });
    leave();
    return undefined;
  };
  return (
    <Dialog
      {...{ title: "Post as an alert", submit: "Post", close: "Cancel" }}
      {...{ inputs: alertInputs, send, leave }}
    />
  );
}

/** A conversation, or a thread in one. */
export type Target = { label: string; channel: string; threadTs?: string | undefined };

type ForwardFormProps = {
  message: { channel: string; ts: string };
  user: string;
  targets: readonly Target[];
  /** Called with where the message went to. Undefined for nowhere. */
  leave: (target?: Target) => void;
};

export function ForwardForm({ message, user, targets, leave }: ForwardFormProps) {
  const send = async ({ Comment: comment = "", To: label }: FilledIn) => {
    const target = targets.find((each) => each.label === label);
    if (target === undefined) return undefined;
    const place = { channel: target.channel, thread_ts: target.threadTs, user };
    await act("/local/messages", { text: comment, forward: message, ...place });
    leave(target);
    return undefined;
  };
  const inputs = [
    { ...text, label: "Comment", isMultiline: true },
    { ...choice, label: "To", choices: targets.map(({ label }) => label) },
  ];
  return (
    <Dialog
      {...{ title: "Forward this message", submit: "Forward", close: "Cancel" }}
      {...{ inputs, send, leave: () => leave() }}
    />
  );
}
