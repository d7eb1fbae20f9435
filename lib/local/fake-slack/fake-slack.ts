/** A fake Slack on this machine: a strict double of the Web API, and people whose actions reach the app as signed requests. */
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { createListeners } from "../listeners.ts";
import type { Fault, TakeFault } from "./faults.ts";
import type { FakeSlackMessage } from "./messages.ts";
import { createPersons } from "./persons.ts";
import type { FakeSlackCaller } from "./reply.ts";
import { type FakeSlackCall, startSlackServer } from "./server.ts";
import { createState } from "./state.ts";
import { otherBot } from "./workspace.ts";

export type FakeSlack = Awaited<ReturnType<typeof startFakeSlack>>;

type FakeSlackOptions = {
  signingSecret: string;
  /** The delays before an event that was not acknowledged is sent again. Slack's own by default. */
  retryDelaysMs?: readonly number[];
  /** How long people's actions wait for the app. Slack's own three seconds by default. */
  answerTimeoutMs?: number;
  /** Decides about each call whether it fails. The faults of `inject` come first. */
  takeFault?: TakeFault;
  log?: Log;
} & Omit<Parameters<typeof createState>[0], "onFailure">;

/** Rejects if the options' `file` has other content. */
export async function startFakeSlack({
  signingSecret,
  log = silentLog,
  retryDelaysMs,
  answerTimeoutMs,
  takeFault = () => undefined,
  ...options
}: FakeSlackOptions) {
  const onFailure = (code: string) => log.error("fake_slack_not_stored", { cause_kind: code });
  const state = createState({ ...options, onFailure });
  const { messages, ephemeral, files, tokens } = state;
  const faults: Fault[] = [];
  const calls = createListeners<FakeSlackCall>();
  calls.add(({ method, reply }) => {
    log.debug("fake_slack_call", {
      method,
      slack_error: reply.ok ? undefined : String(reply.error),
    });
  });
  const stop = new AbortController();
  const server = await startSlackServer({
    state,
    takeFault(method) {
      const index = faults.findIndex((fault) => fault.method === method);
      return index < 0 ? takeFault(method) : faults.splice(index, 1)[0];
    },
    onCall: calls.notify,
  });

  return {
    ...createPersons({ state, signingSecret, retryDelaysMs, answerTimeoutMs, signal: stop.signal }),
    apiUrl: server.apiUrl,
    thread: messages.thread,
    messages: messages.all,
    ephemeralMessages: ephemeral.ephemeralMessages,
    statuses: ephemeral.statuses,
    prompts: ephemeral.prompts,
    sessions: ephemeral.sessions,
    home: ephemeral.home,
    /** The open modals. */
    modals: state.modals.all,
    file: files.find,
    /** Another app posts. */
    postAsOtherBot: (
      post: Pick<FakeSlackMessage, "channel" | "threadTs" | "text" | "blocks" | "attachments">,
    ) => messages.add({ ...post, user: otherBot.user }),
    /** Somebody approves the app's installation there. The code is good for one `oauth.v2.access`. */
    authorize: (caller: FakeSlackCaller) => ({ code: tokens.authorize(caller) }),
    uninstall: tokens.revoke,
    installations: tokens.all,
    /** Calls back at each change of what people see, until the returned function is called. */
    onChange: state.onChange,
    /** Calls back at each call that reached its method, after its effect. */
    onCall: calls.add,
    inject: (fault: Fault) => void faults.push(fault),
    async close(): Promise<void> {
      stop.abort();
      await server.close();
    },
  };
}
