/** Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode): Slack's events come over a connection of our own, so that no address of this machine has to be reachable. */
import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../../lambdas/shared/log.ts";
import type { Intake } from "../../lambdas/verification/ingress/intake.ts";
import type { VerifiedPayload } from "../../lambdas/verification/ingress/understand.ts";
import { type Envelope, openSocketModeConnection, type SocketModeConnection } from "./socket-mode-connection.ts";
import { refusedBySlack } from "./socket-mode-refused.ts";

export type SocketMode = { close(): Promise<void> };

/** As Slack's own client waits at most between two tries. */
const longestPauseMs = 30_000;
/** A connection that ended sooner counts as failed: Slack allows ten of an app at once and ends further ones. */
const shortLifeMs = 10_000;

/** What else may come is acknowledged and forgotten. */
const types: readonly VerifiedPayload["type"][] = ["events_api", "slash_commands", "interactive"];

/**
 * Resolves when Slack has said hello; rejects with words for a person where Slack does not take the token or is not to be reached.
 * An envelope is acknowledged after the queue has it: what is not, Slack delivers again, or tells the person that it did not work.
 * A connection that ends, as each does after an hour or so, is followed by another one. Texts and tokens are in no log line.
 */
export async function startSocketMode({
  appToken,
  apiUrl,
  intake,
  log,
  now = Date.now,
  random = Math.random,
  sleep = (ms, signal) => wait(ms, undefined, { signal }),
}: {
  appToken: () => Promise<string>;
  apiUrl: string;
  intake: Intake;
  log: Log;
  now?: () => number;
  random?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}): Promise<SocketMode> {
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();

  async function receive({ type: given, payload, ack }: Envelope): Promise<void> {
    const type = types.find((known) => known === given);
    const taken = type === undefined ? "dropped" : await intake({ type, payload });
    if (taken === "failed") return;
    // A connection that has ended meanwhile: Slack delivers again, and the request id is the same.
    await ack().catch(() => log.debug("socket_mode_unacknowledged"));
  }
  function onEnvelope(envelope: Envelope): void {
    const received = receive(envelope)
      .catch((thrown: unknown) => {
        log.error("socket_mode_failed", { cause_kind: thrown instanceof Error ? thrown.name : typeof thrown });
      })
      .finally(() => underWay.delete(received));
    underWay.add(received);
  }
  const connect = () => openSocketModeConnection({ appToken, apiUrl, onEnvelope });

  let connection: SocketModeConnection = await connect().catch((thrown: unknown) => {
    throw refusedBySlack({ thrown, apiUrl, name: "the app token", kind: "app" });
  });
  log.info("socket_mode_connected");

  async function stayConnected(): Promise<void> {
    let connectedAtMs = now();
    let isOver: Promise<void> | undefined = connection.over;
    for (let failures = 0; ; ) {
      await isOver;
      if (stop.signal.aborted) return;
      failures = isOver === undefined || now() - connectedAtMs < shortLifeMs ? failures + 1 : 0;
      const delayMs = failures === 0 ? 0 : Math.min(longestPauseMs, 1000 * 2 ** (failures - 1)) * random();
      log.info("socket_mode_disconnected", { delay_ms: Math.round(delayMs) });
      await sleep(delayMs, stop.signal).catch(() => {});
      if (stop.signal.aborted) return;
      isOver = undefined;
      try {
        connection = await connect();
        isOver = connection.over;
        connectedAtMs = now();
        log.info("socket_mode_connected");
      } catch (thrown) {
        log.error("socket_mode_unconnected", { cause_kind: thrown instanceof Error ? thrown.name : typeof thrown });
      }
    }
  }

  const staying = stayConnected();
  return {
    async close() {
      stop.abort();
      // What has come is acknowledged while the connection is there.
      await Promise.all(underWay);
      await connection.close();
      await staying;
      // A connection that was being made meanwhile.
      await connection.close();
      await Promise.all(underWay);
    },
  };
}
