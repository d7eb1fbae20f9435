/** Everything that the fake Slack's methods read and change. */
import { createListeners } from "../listeners.ts";
import { createEphemeralState, type EphemeralChange } from "./ephemeral.ts";
import { createFakeSlackFiles, openFileFolder } from "./files.ts";
import { createFakeSlackMessages, type MessageChange, openMessageFile } from "./messages.ts";
import { createFakeSlackTokens } from "./tokens.ts";
import { createModals, type ModalChange } from "./views.ts";

export type FakeSlackChange = MessageChange | EphemeralChange | ModalChange;

/** The strictness of this Slack where the real one is undocumented or may change. */
export type Rules = {
  /** The most messages on one page of `conversations.replies` and `conversations.history`. */
  pageSize: number;
  /** Slack ends a stream after this time. */
  streamLifeMs: number;
  /** A trigger opens a modal for this long. */
  triggerLifeMs: number;
  /** Refuses markdown blocks, as Slack did before it had them. */
  refusesMarkdown: boolean;
  /** The result of a second `files.completeUploadExternal` for one file: an error, or one more message. */
  completesUploadTwice: "refuse" | "share";
  /** Refuses calls beyond the rate limits of the table of methods. */
  limitsRates: boolean;
  /** The app's manifest has switched the Home tab on. */
  hasHomeTab: boolean;
  /** The scopes of every token, which each response then names. Undefined: every scope, and no response says so. */
  scopes?: readonly string[] | undefined;
  /** The app's credentials for its installation by OAuth. */
  install?: { clientId: string; clientSecret: string } | undefined;
};

const defaultRules: Rules = {
  pageSize: 5,
  streamLifeMs: 300_000,
  triggerLifeMs: 3000,
  refusesMarkdown: false,
  completesUploadTwice: "refuse",
  limitsRates: false,
  hasHomeTab: true,
};

export type FakeSlackState = ReturnType<typeof createState>;

type StateOptions = {
  botToken: string;
  /** Installs the app in the second workspace and in the organization too, with these tokens. */
  otherTokens?: { second?: string; organization?: string };
  file?: string | undefined;
  /** Gets the error code if something cannot be written to `file`. */
  onFailure?: (code: string) => void;
  now?: () => number;
} & Partial<Rules>;

/** `file` keeps the messages, and the folder `FILE.files` beside it the files. Throws if `file` has other content. */
export function createState(options: StateOptions) {
  const { botToken, otherTokens, file, onFailure = () => {}, now = Date.now, ...rules } = options;
  const changes = createListeners<FakeSlackChange>();
  const messages = createFakeSlackMessages({
    now,
    ...(file !== undefined && openMessageFile(file, onFailure)),
  });
  messages.onChange(changes.notify);
  const allRules: Rules = { ...defaultRules, ...rules };
  return {
    messages,
    files: createFakeSlackFiles(
      file === undefined ? undefined : openFileFolder(`${file}.files`, onFailure, now),
    ),
    ephemeral: createEphemeralState(changes.notify),
    modals: createModals({ now, triggerLifeMs: allRules.triggerLifeMs, notify: changes.notify }),
    tokens: createFakeSlackTokens(botToken, otherTokens),
    rules: allRules,
    /** The server sets it once it listens. Files are below it; it ends with a slash. */
    url: "http://127.0.0.1/",
    onChange: changes.add,
    now,
  };
}
