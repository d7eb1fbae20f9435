/** A stand-in for Slack on this machine: a strict double of the Web API, and people whose deeds reach the app as signed requests. */
import { type Log, silentLog } from "../../lambdas/shared/log.ts";
import type { AsideChange, Asides } from "./stand-in/asides.ts";
import { createFaults, type Fault } from "./stand-in/faults.ts";
import { openFileFolder } from "./stand-in/file-folder.ts";
import type { StandInFile } from "./stand-in/files.ts";
import { keepMessages, readMessages } from "./stand-in/message-file.ts";
import { createMessages, type Change as MessageChange, type StandInMessage } from "./stand-in/messages.ts";
import { createMethods } from "./stand-in/methods.ts";
import { createPersons, type Persons } from "./stand-in/persons.ts";
import type { Caller } from "./stand-in/reply.ts";
import { createState, type Rules } from "./stand-in/state.ts";
import type { Installed } from "./stand-in/tokens.ts";
import { type StandInCall, startWebApiServer } from "./stand-in/web-api-server.ts";
import { otherBot } from "./stand-in/workspace.ts";

export type StandInChange = MessageChange | AsideChange;

export type SlackStandIn = Persons & {
  /** Ends with a slash, as the Web API's own. */
  apiUrl: string;
  /** The message and its replies, oldest first. */
  thread(place: { channel: string; ts: string }): StandInMessage[];
  messages(): StandInMessage[];
  /** What people see beside messages. */
  whispers: Asides["whispers"];
  statuses: Asides["statuses"];
  prompts: Asides["prompts"];
  /** A file as it is in Slack. */
  file(id: string): (StandInFile & { bytes: Uint8Array }) | undefined;
  /** Another app posts. */
  postAsOtherBot(post: { channel: string; threadTs?: string; text: string }): StandInMessage;
  /** Somebody allows the app to be installed there; the code is worth one `oauth.v2.access`. */
  authorize(where: Caller): { code: string };
  uninstall(where: Caller): void;
  installations(): Installed[];
  onChange(listener: (change: StandInChange) => void): () => void;
  /** Each call that had a good token, after its effect. */
  onCall(listener: (call: StandInCall) => void): () => void;
  inject(fault: Fault): void;
  close(): Promise<void>;
};

/** Without `file` (and the folder `FILE.files` beside it) messages and files are gone with the process. Rejects where the file holds something else. */
export async function startSlackStandIn({
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
} & Partial<Omit<Rules, "pageSize">>): Promise<SlackStandIn> {
  const messages = createMessages({ now, stored: file === undefined ? undefined : readMessages({ file }) });
  const onFailure = (code: string) => log.error("stand_in_not_kept", { cause_kind: code });
  if (file !== undefined) keepMessages({ messages, file, onFailure });
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
  const { asides, files, tokens } = state;
  const faults = createFaults();
  const callListeners = new Set<(call: StandInCall) => void>();
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
    whispers: asides.whispers,
    statuses: asides.statuses,
    prompts: asides.prompts,
    file: files.find,
    postAsOtherBot: ({ channel, threadTs, text }) =>
      messages.add({ channel, threadTs, user: otherBot.user, text, metadata: undefined }),
    authorize: (where) => ({ code: tokens.authorize(where) }),
    uninstall: tokens.revoke,
    installations: tokens.all,
    onChange(listener) {
      const stops = [messages.onChange(listener), asides.onChange(listener)];
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
