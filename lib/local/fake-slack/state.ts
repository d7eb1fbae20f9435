/** All that the fake Slack's methods work on. */
import { createEphemeralState, type EphemeralState } from "./ephemeral.ts";
import { createFakeSlackFiles, type FakeSlackFiles, type FileFolder } from "./files.ts";
import type { FakeSlackMessages } from "./messages.ts";
import { createFakeSlackTokens, type FakeSlackTokens } from "./tokens.ts";

/** How strict this Slack is, where the real one leaves it open or changes its mind. */
export type Rules = {
  /** The most messages on one page. */
  pageSize: number;
  /** After that Slack ends a stream by itself. */
  streamLifeMs: number;
  /** Markdown blocks are no blocks. */
  refusesMarkdown: boolean;
  /** What comes of `files.completeUploadExternal` for a file that is completed: an error, or one more message. */
  completesUploadTwice: "refuse" | "share";
  /** What the tokens may, as every answer says of them; without it no answer does. */
  scopes?: readonly string[] | undefined;
  /** The app's own, for the installation by OAuth. */
  install?: { clientId: string; clientSecret: string } | undefined;
};

/** `filesUrl()` is where files are served from and uploaded to, ending with a slash. */
export type FakeSlackState = {
  messages: FakeSlackMessages;
  files: FakeSlackFiles;
  ephemeral: EphemeralState;
  tokens: FakeSlackTokens;
  rules: Rules;
  filesUrl: () => string;
  now: () => number;
};

export function createState({
  messages,
  botToken,
  otherTokens = {},
  rules,
  fileFolder,
  filesUrl = () => "http://127.0.0.1/",
  now = Date.now,
}: {
  messages: FakeSlackMessages;
  botToken: string;
  otherTokens?: { second?: string; organization?: string };
  rules: Partial<Rules> & { pageSize: number };
  fileFolder?: FileFolder | undefined;
  filesUrl?: () => string;
  now?: () => number;
}): FakeSlackState {
  const defaults = { streamLifeMs: 300_000, refusesMarkdown: false, completesUploadTwice: "refuse" } as const;
  return {
    messages,
    files: createFakeSlackFiles({ folder: fileFolder }),
    ephemeral: createEphemeralState(),
    tokens: createFakeSlackTokens({ botToken, otherTokens }),
    rules: { ...defaults, ...rules },
    filesUrl,
    now,
  };
}
