/**
 * Creates the task machine's policy from the configuration: routes (the first that matches a message names its destinations) and the
 * limits of each destination.
 */

import { hash } from "node:crypto";
import type { Destination } from "../../shared/config/destination-schema.ts";
import type { Config, Route } from "../../shared/config/schema.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import type { UserMessage } from "../task/messages.ts";
import type { Policy } from "../task/routing.ts";
import type { Locale } from "../task/task.ts";

/** Creates the policy of the task machine. */
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

/**
 * The destinations of the first route whose conditions all match, in the order of preference; none where no route matches. A route
 * without conditions matches every message.
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
 * How much of a text is compared with a route's word, which has at most 64 characters. Normalizing a long text takes time that grows with
 * the square of its number of combining marks.
 */
const maxRead = 500;

/** Whether the text begins with the word and a colon, in any letter case and width. */
function beginsWith(text: string, word: string): boolean {
  const beginning = text.trimStart().slice(0, maxRead);
  const [first, rest] = beginning.normalize("NFKC").split(":", 2);
  return rest !== undefined && foldCase(first ?? "") === foldCase(word.normalize("NFKC"));
}

function foldCase(text: string): string {
  return text.trim().toLowerCase();
}

/** The language of a person whose language is unknown. */
export function toDefaultLocale({ locale }: Pick<Config["slack"], "locale">): Locale {
  return locale === "user" ? "en" : locale;
}

/** A digest of where the destination leads. */
function readAddress(destination: Destination): string {
  const { transport, url, runtimeArn, qualifier, endpoint, card } = { ...noAddress, ...destination };
  // `card` is added only where there is one, so that the digests of other destinations in stored records stay the same.
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
