/** A stand-in for Slack on this machine: a strict double of the Web API, and a person who posts signed events. */
import { type Log, silentLog } from "../../lambdas/shared/log.ts";
import { requestIdOf } from "../../lambdas/verification/ingress/request-id.ts";
import { escapeMrkdwn } from "../../lambdas/verification/slack/escape.ts";
import { eventPayload } from "./event-payload.ts";
import { type Delivery, sendEvent } from "./signed-events.ts";
import { createFaults, type Fault } from "./stand-in/faults.ts";
import { keepMessages, readMessages } from "./stand-in/message-file.ts";
import { type Change, createMessages, type StandInMessage } from "./stand-in/messages.ts";
import { createMethods } from "./stand-in/methods.ts";
import { type StandInCall, startWebApiServer } from "./stand-in/web-api-server.ts";
import { channelOf, workspace } from "./stand-in/workspace.ts";

export type Asked = {
  message: StandInMessage;
  requestId: string;
  /** Resolves when Slack would be done with the event: taken, or given up. */
  delivered: Promise<Delivery>;
};

export type SlackStandIn = {
  /** Ends with a slash, as the Web API's own. */
  apiUrl: string;
  /**
   * A person posts `text` (in a channel with a mention of the bot before it), and the event goes to `eventsUrl` as Slack
   * would send it. `channel` is the stand-in's channel if it is left out. Throws where channel or thread do not exist.
   */
  ask(request: { eventsUrl: string; text: string; channel?: string; threadTs?: string | undefined }): Asked;
  /** The message and its replies, oldest first. */
  thread(place: { channel: string; ts: string }): StandInMessage[];
  messages(): StandInMessage[];
  onChange(listener: (change: Change) => void): () => void;
  /** Each call that had the right token, after its effect. */
  onCall(listener: (call: StandInCall) => void): () => void;
  inject(fault: Fault): void;
  close(): Promise<void>;
};

/** Without `file` the messages are gone with the process. Rejects where the file holds something else. */
export async function startSlackStandIn({
  signingSecret,
  botToken,
  hostname = "127.0.0.1",
  port = 0,
  pageSize = 5,
  file,
  retryDelaysMs,
  log = silentLog,
  now = Date.now,
}: {
  signingSecret: string;
  botToken: string;
  hostname?: "127.0.0.1" | "localhost";
  port?: number;
  /** The most replies on one page of `conversations.replies`. */
  pageSize?: number;
  /** Where the messages are kept. */
  file?: string | undefined;
  /** Before each redelivery of an event that was not taken; Slack's own where absent. */
  retryDelaysMs?: readonly number[];
  log?: Log;
  now?: () => number;
}): Promise<SlackStandIn> {
  const messages = createMessages({ now, stored: file === undefined ? undefined : readMessages({ file }) });
  if (file !== undefined) {
    keepMessages({ messages, file, onFailure: (code) => log.error("stand_in_not_kept", { cause_kind: code }) });
  }
  const faults = createFaults();
  const callListeners = new Set<(call: StandInCall) => void>();
  const stop = new AbortController();
  const server = await startWebApiServer({
    methods: createMethods({ messages, pageSize }),
    faults,
    botToken,
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

  return {
    apiUrl: server.apiUrl,
    ask({ eventsUrl, text, channel = workspace.channel.id, threadTs }) {
      const place = channelOf(channel);
      if (place === undefined) throw new Error("The stand-in has no such channel.");
      if (threadTs !== undefined && messages.find({ channel, ts: threadTs }) === undefined) {
        throw new Error("The stand-in has no such thread.");
      }
      const typed = escapeMrkdwn(text);
      const message = messages.add({
        channel,
        threadTs,
        user: workspace.person,
        text: place.direct ? typed : `<@${workspace.botUser}> ${typed}`,
        metadata: undefined,
      });
      const payload = eventPayload({ event: place.direct ? "message" : "app_mention", message });
      return {
        message,
        requestId: requestIdOf({ appId: workspace.app, channel, ts: message.ts }),
        delivered: sendEvent({
          eventsUrl,
          signingSecret,
          payload,
          now,
          signal: stop.signal,
          ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
        }),
      };
    },
    thread: messages.thread,
    messages: messages.all,
    onChange: messages.onChange,
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
