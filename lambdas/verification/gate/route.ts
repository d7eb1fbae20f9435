/**
 * The part of the configuration that the task machine needs: the routes, of which the first that fits a message names its destinations,
 * and each destination's limits.
 */

import { hash } from "node:crypto";
import type { Destination } from "../../shared/config/destination-schema.ts";
import type { Config, Route } from "../../shared/config/schema.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import type { UserMessage } from "../task/messages.ts";
import type { Policy } from "../task/routing.ts";
import type { Locale } from "../task/task.ts";

/**
 * The names of the destinations, of which the first is to be tried first; none where no route fits. All given conditions
 * must match; a route without any fits all.
 */
export function findRoute({
  routes,
  message,
}: {
  routes: readonly Route[];
  message: Pick<UserMessage, "team" | "channel" | "text">;
}): readonly string[] {
  const fitting = routes.find(
    ({ team, channel, word }) =>
      (team === undefined || team === message.team) &&
      (channel === undefined || channel === message.channel) &&
      (word === undefined || beginsWith(message.text, word)),
  );
  return fitting?.destination ?? [];
}

/**
 * A word of a route has at most 64 characters. The whole text is not normalized: with many combining marks the time grows with the square of
 * its length.
 */
const maxRead = 500;

/** In any letter case and width, the colon too. */
function beginsWith(text: string, word: string): boolean {
  const beginning = text.trimStart().slice(0, maxRead);
  const [first, rest] = beginning.normalize("NFKC").split(":", 2);
  return rest !== undefined && folded(first ?? "") === folded(word.normalize("NFKC"));
}

function folded(text: string): string {
  return text.trim().toLowerCase();
}

/** What somebody reads of whose language nothing is known. */
export function toDefaultLocale({ locale }: Pick<Config["slack"], "locale">): Locale {
  return locale === "user" ? "en" : locale;
}

function readAddress(destination: Destination): string {
  const { transport, url, runtimeArn, qualifier, endpoint, card } = { ...noAddress, ...destination };
  // One more only where there is a card: the records of tasks under way have what came out before there were any.
  const parts = [transport, url, runtimeArn, qualifier, endpoint, ...(card === undefined ? [] : [card])];
  return hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);
}
const noAddress = {
  url: undefined,
  runtimeArn: undefined,
  qualifier: undefined,
  endpoint: undefined,
  card: undefined,
};

export function createPolicy({
  config,
}: {
  config: Pick<Config, "slack" | "routes" | "destinations" | "limits">;
}): Policy {
  return {
    routeOf: (message) => findRoute({ routes: config.routes, message }),
    destinations: new Map(
      Object.entries(config.destinations).map(([name, destination]) => [
        name,
        {
          deadlineMs: destination.deadlineMs,
          address: readAddress(destination),
          idempotent: destination.idempotent,
          concurrency: destination.concurrency,
          questionMs: destination.questions.expireAfterMs,
          longPollMs: destination.longPollMs,
          stopAfterResult: destination.transport === "agentcore" && destination.stopAfterResult,
        },
      ]),
    ),
    fileCountOf: (task) => createOutgoingFiles(task).length,
    threadReplies: config.slack.threadReplies,
    commandsPrivately: config.slack.command?.answerIn === "person",
    sweepAfterMs: config.limits.sweepAfterMs,
  };
}
