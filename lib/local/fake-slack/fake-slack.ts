/** A fake Slack on this machine: a strict double of the Web API, and people whose deeds reach the app as signed requests. */
import { type Log, silentLog } from "../../../lambdas/shared/log.ts";
import type { EphemeralChange, EphemeralState } from "./ephemeral.ts";
import { createFaults, type Fault } from "./faults.ts";
import { type FakeSlackFile, openFileFolder } from "./files.ts";
import {
  createFakeSlackMessages,
  type FakeSlackMessage,
  type MessageChange,
  persistMessages,
  readStoredMessages,
} from "./messages.ts";
import { createMethods } from "./methods.ts";
import { createPersons, type Persons } from "./persons.ts";
import type { FakeSlackCaller } from "./reply.ts";
import { createState, type Rules } from "./state.ts";
import type { FakeSlackInstallation } from "./tokens.ts";
import { type FakeSlackCall, startWebApiServer } from "./web-api-server.ts";
import { otherBot } from "./workspace.ts";

export type FakeSlackChange = MessageChange | EphemeralChange;

export type FakeSlack = Persons & {
  /** Ends with a slash, as the Web API's own. */
  apiUrl: string;
  /** The message and its replies, oldest first. */
  thread(place: { channel: string; ts: string }): FakeSlackMessage[];
  messages(): FakeSlackMessage[];
  /** What people see beside messages. */
  ephemeralMessages: EphemeralState["ephemeralMessages"];
  statuses: EphemeralState["statuses"];
  prompts: EphemeralState["prompts"];
  /** A file as it is in Slack. */
  file(id: string): (FakeSlackFile & { bytes: Uint8Array }) | undefined;
  /** Another app posts. */
  postAsOtherBot(post: { channel: string; threadTs?: string; text: string }): FakeSlackMessage;
  /** Somebody allows the app to be installed there; the code is worth one `oauth.v2.access`. */
  authorize(where: FakeSlackCaller): { code: string };
  uninstall(where: FakeSlackCaller): void;
  installations(): FakeSlackInstallation[];
  onChange(listener: (change: FakeSlackChange) => void): () => void;
  /** Each call that had a good token, after its effect. */
  onCall(listener: (call: FakeSlackCall) => void): () => void;
  inject(fault: Fault): void;
  close(): Promise<void>;
};

/** Without `file` (and the folder `FILE.files` beside it) messages and files are gone with the process. Rejects where the file holds something else. */
export async function startFakeSlack({
  signingSecret,
  botToken,
  otherTokens = {},
  hostname = "127.0.0.1",
  port = 0,
  pageSize = 5,
  file,
  retryDelaysMs,
  log = silentLog,
  now = Date.now,
  ...rules
}: {
  signingSecret: string;
  botToken: string;
  /** The app is installed in the second workspace and in the organization too, with these tokens. */
  otherTokens?: { second?: string; organization?: string };
  hostname?: "127.0.0.1" | "localhost";
  port?: number;
  /** The most messages on one page of `conversations.replies` and `conversations.history`. */
  pageSize?: number;
  /** Where the messages are kept, and in a folder beside it the files. */
  file?: string | undefined;
  /** Before each redelivery of an event that was not taken; Slack's own where absent. */
  retryDelaysMs?: readonly number[];
  log?: Log;
  now?: () => number;
} & Partial<Omit<Rules, "pageSize">>): Promise<FakeSlack> {
  const messages = createFakeSlackMessages({
    now,
    stored: file === undefined ? undefined : readStoredMessages({ file }),
  });
  const onFailure = (code: string) => log.error("fake_slack_not_stored", { cause_kind: code });
  if (file !== undefined) persistMessages({ messages, file, onFailure });
  const fileFolder = file === undefined ? undefined : openFileFolder({ folder: `${file}.files`, now, onFailure });
  let filesUrl = "";
  const state = createState({
    messages,
    botToken,
    otherTokens,
    rules: { ...rules, pageSize },
    fileFolder,
    filesUrl: () => filesUrl,
    now,
  });
  const { ephemeral, files, tokens } = state;
  const faults = createFaults();
  const callListeners = new Set<(call: FakeSlackCall) => void>();
  const stop = new AbortController();
  const server = await startWebApiServer({
    methods: createMethods(state),
    faults,
    botToken,
    tokens,
    files,
    scopes: state.rules.scopes,
    hostname,
    port,
    onCall(call) {
      log.debug("stand_in_call", {
        method: call.method,
        slack_error: call.reply.ok ? undefined : String(call.reply.error),
      });
      for (const listener of callListeners) listener(call);
    },
  });
  filesUrl = new URL("/", server.apiUrl).href;

  return {
    ...createPersons({ state, signingSecret, retryDelaysMs, signal: stop.signal }),
    apiUrl: server.apiUrl,
    thread: messages.thread,
    messages: messages.all,
    ephemeralMessages: ephemeral.ephemeralMessages,
    statuses: ephemeral.statuses,
    prompts: ephemeral.prompts,
    file: files.find,
    postAsOtherBot: ({ channel, threadTs, text }) =>
      messages.add({ channel, threadTs, user: otherBot.user, text, metadata: undefined }),
    authorize: (where) => ({ code: tokens.authorize(where) }),
    uninstall: tokens.revoke,
    installations: tokens.all,
    onChange(listener) {
      const stops = [messages.onChange(listener), ephemeral.onChange(listener)];
      return () => {
        for (const stopListening of stops) stopListening();
      };
    },
    onCall(listener) {
      callListeners.add(listener);
      return () => callListeners.delete(listener);
    },
    inject: faults.inject,
    async close() {
      stop.abort();
      await server.close();
    },
  };
}
