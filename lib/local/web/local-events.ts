/** The events that the local page gets from its server: everything at first, then each change. */
import type { DisplayNode } from "./display-node.ts";
import type { TimelineStep } from "./timeline-step.ts";

export type Person = { id: string; name: string; locale: string };
export type Channel = { id: string; name: string; direct: boolean; people: readonly string[] };
/** A message that a person sends by choosing its title. */
export type Prompt = { title: string; message: string };

export type LocalEvent =
  | {
      type: "reset";
      people: readonly Person[];
      channels: readonly Channel[];
      examples: readonly Prompt[];
      /** The `ts` of the last message before the server began to record steps. */
      stepsSince: string;
      changes: readonly LocalChange[];
    }
  | LocalChange;

export type LocalChange =
  | { type: "message"; message: MessageView }
  | { type: "removed"; channel: string; ts: string }
  | { type: "ephemeral"; message: EphemeralView }
  | { type: "status"; channel: string; threadTs: string; status: string }
  | { type: "prompts"; channel: string; prompts: readonly Prompt[] }
  /** A person has no modal, or this one. */
  | { type: "modal"; user: string; modal?: ModalView | undefined }
  | { type: "step"; requestId: string; step: TimelineStep };

export type MessageView = {
  channel: string;
  ts: string;
  threadTs: string | undefined;
  author: { name: string; kind: "person" | "bot" | "other_app" };
  /** The destination whose answer it is. */
  agent: string | undefined;
  edited: boolean;
  streaming: boolean;
  reactions: readonly { name: string; shown: string }[];
  parts: readonly MessagePart[];
  files: readonly { id: string; name: string; size: number; isImage: boolean }[];
  requestId: string | undefined;
};

/** The page shows the parts of a message one below the other. */
export type MessagePart =
  | { type: "text" | "context" | "attachment"; shown: readonly DisplayNode[] }
  | { type: "buttons" | "votes"; buttons: readonly ButtonView[] };

/** `style` is Slack's. `voters` are those whose vote it is. */
export type ButtonView = {
  actionId: string;
  label: string;
  style?: string | undefined;
  value?: string | undefined;
  voters?: readonly string[];
};

/** Only `user` would see it in Slack. */
export type EphemeralView = {
  channel: string;
  threadTs: string | undefined;
  ts: string;
  user: string;
  name: string;
  shown: readonly DisplayNode[];
};

export type ModalView = {
  id: string;
  title: string;
  /** Absent in a modal that only says something. */
  submit?: string | undefined;
  close?: string | undefined;
  texts: readonly (readonly DisplayNode[])[];
  /** Buttons that open an address. */
  links: readonly { label: string; href: string }[];
  inputs: readonly InputView[];
};

/** The page fills in a native control for each. `kind` is Slack's type of the element. */
export type InputView = {
  label: string;
  kind: string;
  blockId?: string;
  hint?: string | undefined;
  isRequired?: boolean;
  isMultiline?: boolean;
  maxLength?: number | undefined;
  min?: string | undefined;
  max?: string | undefined;
  choices?: readonly string[];
  value?: string;
};
