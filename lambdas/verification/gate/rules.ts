/**
 * The rules about messages: the allowlist of the configuration and of the store, which denies by default, and the routes and destinations
 * of the configuration as the policy of the task machine.
 */

import { hash } from "node:crypto";
import { resolveLongPollMs, resolveMaxPollGapMs } from "@sekisho/config/call-time.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { AllowlistRule, Config, Route } from "@sekisho/config/schema.ts";
import { maxTextLength } from "@sekisho/contracts/limits.ts";
import { createCachedValues } from "@sekisho/runtime/async/cache.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import * as z from "zod";
import { addNames, listIds } from "../slack/context/names.ts";
import { createOutgoingFiles } from "../slack/messages/answer.ts";
import type { UserMessage } from "../task/messages.ts";
import { matchRoute, type Policy, type UsableRoute } from "../task/routing.ts";
import type { Locale } from "../task/task.ts";
import { isRuleIn } from "./border.ts";

/** `team` is the installation's workspace, even if the person belongs to another one (Slack Connect). */
export type Requester = Pick<
  UserMessage,
  "team" | "enterprise" | "channel" | "user" | "botIds" | "external"
>;

const fields = ["channel", "user"] as const;

/**
 * `rule` is the first rule without a group whose given fields all match. `byGroup` are the matching rules with a group, in order. They
 * allow the group's members, whom only Slack knows. A rule without fields matches no one, and so does a rule without a workspace if
 * `hasManyWorkspaces`.
 */
export function matchRules<Rule extends AllowlistRule>(request: {
  rules: readonly Rule[];
  requester: Requester;
  hasManyWorkspaces: boolean;
}): { rule: Rule | undefined; byGroup: readonly (Rule & { group: string })[] } {
  const { rules, requester, hasManyWorkspaces } = request;
  const fitting = rules.filter((rule) => {
    const { team, channel, user, group, bot } = rule;
    if ((team ?? channel ?? user ?? group ?? bot) === undefined) return false;
    if (!isRuleIn({ rule, installation: requester, hasManyWorkspaces })) return false;
    if (!isForWriter(rule, requester) || !isForLocation(rule, requester)) return false;
    return fields.every((field) => rule[field] === undefined || rule[field] === requester[field]);
  });
  return {
    rule: fitting.find(({ group }) => group === undefined),
    byGroup: fitting.filter((rule): rule is Rule & { group: string } => rule.group !== undefined),
  };
}

/** A rule is either for people or for one bot. */
function isForWriter({ bot }: AllowlistRule, { botIds }: Requester): boolean {
  return bot === undefined ? botIds === undefined : botIds?.includes(bot) === true;
}

/** A rule that lets in the people of other organizations lets in its own people in their channels as well. */
function isForLocation(
  { external: allowedExternal }: AllowlistRule,
  { external }: Requester,
): boolean {
  return external === undefined || allowedExternal === "people" || allowedExternal === external;
}

export const storedRulesId = "allowlist";
export const maxRules = 1000;
/** A DynamoDB item holds 400 KB, including the members beside the rules. */
export const maxRulesBytes = 300_000;
/** The record never expires. */
const neverMs = Date.UTC(9999, 0);

const slackIdSchema = z.string().regex(/^[A-Z0-9]{1,64}$/);
/** The same shape as in the configuration. It is repeated here because that schema would load all of the configuration's schemas. */
const ruleSchema = z
  .strictObject({
    team: slackIdSchema.optional(),
    channel: slackIdSchema.optional(),
    user: slackIdSchema.optional(),
    group: slackIdSchema.optional(),
    bot: z
      .string()
      .regex(/^[A-Z][A-Za-z0-9]{0,63}$/)
      .optional(),
    external: z.enum(["channels", "people"]).optional(),
    label: z.string().min(1).max(80).optional(),
  })
  .refine(({ team, channel, user, group, bot }) => team ?? channel ?? user ?? group ?? bot)
  .refine(
    ({ user, group, bot }) => bot === undefined || (user ?? group) === undefined,
  ) satisfies z.ZodType<AllowlistRule>;

/** `number` is never reused, so that removing by number cannot hit another rule. */
const storedRuleSchema = z.strictObject({
  rule: ruleSchema,
  number: z.int().min(1),
  addedAtMs: z.int(),
});
export type StoredRule = z.infer<typeof storedRuleSchema>;

const storedRulesSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("allowlist"),
  expiresAtMs: z.int(),
  lastNumber: z.int().min(0),
  rules: z.array(storedRuleSchema),
});
export type StoredRules = z.infer<typeof storedRulesSchema>;

/** For commands that change the record. Throws for a rule that this version cannot read, so that no rule is lost. */
export function parseStoredRules(json: unknown): StoredRules {
  return checkRecord({ schema: storedRulesSchema, json });
}

const anyRulesSchema = storedRulesSchema.extend({ rules: z.array(z.unknown()) });

/**
 * For the gate. Drops a rule that this version cannot read, as after a rollback. Without its unknown field the rule might allow more people
 * than intended, and refusing the whole record would lock everyone out.
 */
export function parseReadableRules(json: unknown): StoredRules {
  const { rules, ...record } = anyRulesSchema.parse(json);
  return { ...record, rules: rules.flatMap((rule) => storedRuleSchema.safeParse(rule).data ?? []) };
}

export function noStoredRules(): StoredRules {
  return {
    id: storedRulesId,
    revision: 1,
    state: "allowlist",
    expiresAtMs: neverMs,
    lastNumber: 0,
    rules: [],
  };
}

/** A change of the rules takes effect within this time. */
export const rulesKeepMs = 15_000;
/** How long cached rules stay in effect while the store is unavailable. */
const rulesStaleMs = 5 * 60_000;

/** Reads the stored rules through a cache. Rejects if the store is unavailable and the cached rules are too old. */
export function createEffectiveRules(options: {
  store: Pick<TaskStore<StoredRules>, "get">;
  now: () => number;
}): (request: { signal: AbortSignal }) => Promise<readonly AllowlistRule[]> {
  const { store, now } = options;
  const cachedRules = createCachedValues<readonly AllowlistRule[]>({ now, staleMs: rulesStaleMs });
  async function readRules() {
    const storedRules = await store.get({ id: storedRulesId });
    return { value: storedRules?.rules.map(({ rule }) => rule) ?? [], keepMs: rulesKeepMs };
  }
  return ({ signal }) => cachedRules.get({ key: storedRulesId, signal, read: readRules });
}

/** Creates the policy of the task machine. */
export function createPolicy(options: {
  config: Pick<Config, "slack" | "routes" | "destinations" | "limits" | "usageHistory">;
}): Policy {
  const { config } = options;
  return {
    routesOf: (message) => listUsableRoutes({ routes: config.routes, message }),
    destinations: new Map(
      Object.entries(config.destinations).map(([name, destination]) => [
        name,
        {
          deadlineMs: destination.deadlineMs,
          address: readAddress(destination),
          idempotent: destination.idempotent,
          concurrency: destination.concurrency,
          questionMs: destination.questions.expireAfterMs,
          answerBy: destination.questions.answerBy,
          longPollMs: resolveLongPollMs(destination, config),
          maxPollGapMs: resolveMaxPollGapMs(destination),
          stopAfterResult: destination.transport === "agentcore" && destination.stopAfterResult,
        },
      ]),
    ),
    needsLookups: ({ text, about, open }) => {
      const { names, groups, channel, open: sendsOpen } = config.slack.context;
      const hasIds = () => listIds(`${text} ${about?.instruction ?? ""}`).length > 0;
      return channel || (sendsOpen && open !== undefined) || ((names || groups) && hasIds());
    },
    addNames(text, names) {
      const namedText = addNames(text, (id) => (Object.hasOwn(names, id) ? names[id] : undefined));
      return namedText.length > maxTextLength ? text : namedText;
    },
    fileCountOf: (task) => createOutgoingFiles(task).length,
    threadReplies: config.slack.threadReplies,
    helpWord: config.slack.helpWord,
    oneDirectConversation: config.slack.directMessages === "one-conversation",
    commandsPrivately: config.slack.command?.answerIn === "person",
    sweepAfterMs: config.limits.sweepAfterMs,
    usage: config.usageHistory,
  };
}

/**
 * Returns the destinations of the first route whose conditions all match, in order of preference, or none. A route without conditions
 * matches every message.
 */
export function findRoute(request: RouteRequest): readonly string[] {
  return matchRoute(listUsableRoutes(request))?.destinations ?? [];
}

type RouteRequest = {
  routes: readonly Route[];
  message: Pick<UserMessage, "team" | "channel" | "text">;
};

/** Returns the routes whose workspace and channel fit the message, in the order of the configuration. */
function listUsableRoutes({ routes, message }: RouteRequest): UsableRoute[] {
  const { team, channel, text } = message;
  const splitText = routes.some(({ word }) => word !== undefined) ? splitWord(text) : undefined;
  return routes
    .filter(
      (route) =>
        [team, undefined].includes(route.team) && [channel, undefined].includes(route.channel),
    )
    .map((route) => ({
      key: routeKey(route),
      destinations: route.destination,
      hasWord: route.word !== undefined,
      text: readRouteText({ route, text, splitText }),
      sharesHistory: route.sharesHistory === true,
    }));
}

/** Identifies a route in records: by its conditions, so that a route that gets other destinations is still the same. */
function routeKey({ team, channel, word }: Route): string {
  return JSON.stringify([
    team ?? null,
    channel ?? null,
    word === undefined ? null : foldWord(word),
  ]);
}

/**
 * How much of a text is compared with a route's word, which has at most 64 characters. The limit matters because normalizing takes time
 * quadratic in the number of combining marks.
 */
const maxRead = 500;
/** The characters that NFKC turns into a colon. */
const colon = /[:\u2a74\ufe13\ufe55\uff1a]/u;

type SplitText = { word: string; rest: string };

/** Splits the text at its first colon. The word is comparable: in one width and letter case. */
function splitWord(text: string): SplitText | undefined {
  const trimmedText = text.trimStart();
  const at = trimmedText.slice(0, maxRead).search(colon);
  return at < 0
    ? undefined
    : { word: foldWord(trimmedText.slice(0, at)), rest: trimmedText.slice(at + 1).trimStart() };
}

/** Returns what the agent of the route gets of the text. Undefined if the text does not begin with the route's word. */
function readRouteText(request: {
  route: Route;
  text: string;
  splitText: SplitText | undefined;
}): string | undefined {
  const { text, splitText, route } = request;
  if (route.word === undefined) return text;
  if (splitText?.word !== foldWord(route.word)) return undefined;
  return route.keepsWord ? text : splitText.rest;
}

function foldWord(word: string): string {
  return word.normalize("NFKC").trim().toLowerCase();
}
/** Returns the language of texts for a person whose language is unknown. */
export function toDefaultLocale({ locale }: Pick<Config["slack"], "locale">): Locale {
  return locale === "user" ? "en" : locale;
}

/** A digest of the destination's address. */
function readAddress(destination: Destination): string {
  const fields: Partial<Record<AddressField, string | undefined>> = destination;
  const { transport, url, runtimeArn, qualifier, endpoint, card } = fields;
  // `card` is added only if there is one, so that the digests of other destinations in stored records stay the same.
  const parts = [
    transport,
    url,
    runtimeArn,
    qualifier,
    endpoint,
    ...(card === undefined ? [] : [card]),
  ];
  return hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);
}

type AddressField = "transport" | "url" | "runtimeArn" | "qualifier" | "endpoint" | "card";
