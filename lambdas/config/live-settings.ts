/**
 * The settings that can change on AWS without a deploy: the routes, and the destination fields that need no permission. They are a record of
 * the zone's table, which `sekisho config push` writes.
 */
import { createHash } from "node:crypto";
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { ConfigError } from "./config-error.ts";
import { listAddresses, resolveAuthorizerConfig } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import { parseWholeConfig } from "./load.ts";
import type { Config } from "./schema.ts";

/** The fields that are live, if a destination has them. `version` is the version of A2A. */
const liveFields = [
  "deadlineMs",
  "concurrency",
  "longPollMs",
  "dialect",
  "idempotent",
  "idleSeconds",
  "maxResponseBytes",
  "questions",
  "version",
];
/** These are live only if the stage's permission does not depend on the address. */
const addressFields = ["card", "url"];
/** Fields that belong to one peer or transport. The other live fields suit any peer. */
const peerFields = [
  ...addressFields,
  "dialect",
  "idempotent",
  "idleSeconds",
  "longPollMs",
  "version",
];
const anyValue = z.unknown().optional();
/** An unknown field is ignored, because a newer version may have pushed it before a rollback. */
const liveFieldsSchema = z.object(
  Object.fromEntries(
    [...liveFields, ...addressFields, "fingerprint"].map((field) => [field, anyValue]),
  ),
);
type LiveFields = z.infer<typeof liveFieldsSchema>;

/** The configuration's own schema checks the fields once they are merged into it. */
const liveSettingsSchema = z.strictObject({
  routes: z.unknown().optional(),
  destinations: z.record(z.string(), liveFieldsSchema).optional(),
});
export type LiveSettings = z.infer<typeof liveSettingsSchema>;

/** For each destination, a hash of the fields that are not live. Destinations with the same fingerprint differ only in live fields. */
export type Fingerprints = Record<string, string>;

/** The settings that `config push` stores. Their fingerprint shows later for which peer and credentials they were pushed. */
export function toLiveSettings({ routes, destinations }: Config): LiveSettings {
  const fingerprints = createFingerprints({ destinations });
  const fields = Object.entries(destinations).map(
    ([name, destination]) =>
      [name, { fingerprint: fingerprints[name], ...split(destination).live }] as const,
  );
  return { routes, destinations: Object.fromEntries(fields) };
}

/**
 * Merges the live settings into the deployed configuration. Settings of an unknown destination are ignored, so that routes still work after
 * a rollback; a route to it is refused. An address that was pushed for other credentials is ignored, because the deployed credentials must
 * not be sent there. Throws a ConfigError if the result is invalid.
 */
export function withLiveSettings(request: {
  config: Config;
  json: unknown;
  deployed?: Fingerprints;
}): Config {
  const { config, json, deployed: deployedFingerprints = createFingerprints(config) } = request;
  const { routes = config.routes, destinations: pushedFields = {} } = parseLiveSettings(json);
  const outdated = outdatedNames({ pushedFields, deployed: deployedFingerprints });
  const destinations = Object.entries(config.destinations).map(([name, destination]) => {
    const { fixedFields, live } = split(destination);
    const isForPeer = !outdated.includes(name);
    // Only live fields are replaced, even if others were live when the settings were pushed.
    const fields = Object.entries(pushedFields[name] ?? {}).filter(
      ([field]) => Object.hasOwn(live, field) && (isForPeer || !peerFields.includes(field)),
    );
    return [name, { ...fixedFields, ...live, ...Object.fromEntries(fields) }] as const;
  });
  return parseWholeConfig({
    json: { ...config, routes, destinations: Object.fromEntries(destinations) },
  });
}

/**
 * Lists the deployed destinations whose settings were pushed for another peer, credential or permission, so that their deployed addresses
 * are in effect. Throws a ConfigError if the settings cannot be read.
 */
export function outdatedSettings({
  json,
  deployed: deployedFingerprints,
}: {
  json: unknown;
  deployed: Fingerprints;
}): string[] {
  return outdatedNames({
    pushedFields: parseLiveSettings(json).destinations ?? {},
    deployed: deployedFingerprints,
  });
}

function outdatedNames({
  pushedFields,
  deployed: deployedFingerprints,
}: {
  pushedFields: Record<string, LiveFields>;
  deployed: Fingerprints;
}): string[] {
  return Object.entries(pushedFields).flatMap(([name, { fingerprint }]) =>
    Object.hasOwn(deployedFingerprints, name) && deployedFingerprints[name] !== fingerprint
      ? [name]
      : [],
  );
}

function parseLiveSettings(json: unknown): LiveSettings {
  const result = liveSettingsSchema.safeParse(json);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ConfigError("The live settings", problems);
}

export function createFingerprints({ destinations }: Pick<Config, "destinations">): Fingerprints {
  const digests = Object.entries(destinations).map(([name, destination]) => {
    const { live, fixedFields } = split(destination);
    const text = JSON.stringify(sortKeys({ ...fixedFields, hasUrl: Object.hasOwn(live, "url") }));
    return [name, createHash("sha256").update(text).digest("hex").slice(0, 12)] as const;
  });
  return Object.fromEntries(digests);
}

/** Lists the destinations that need a deploy before their settings can be pushed. */
export function listUndeployedChanges({
  config,
  deployed: deployedFingerprints,
}: {
  config: Config;
  deployed: Fingerprints;
}): string[] {
  const configFingerprints = Object.entries(createFingerprints(config));
  return configFingerprints
    .filter(([name, fingerprint]) => deployedFingerprints[name] !== fingerprint)
    .map(([name]) => name);
}

function split(destination: Destination): {
  live: LiveFields;
  fixedFields: Record<string, unknown>;
} {
  const addresses = hasLiveAddress(destination)
    ? listAddresses(destination).map(({ field }) => field)
    : [];
  const isLive = (field: string) => [...liveFields, ...addresses].includes(field);
  const fields = Object.entries(destination);
  return {
    live: Object.fromEntries(fields.filter(([field]) => isLive(field))),
    fixedFields: Object.fromEntries(fields.filter(([field]) => !isLive(field))),
  };
}

function hasLiveAddress(destination: Destination): boolean {
  // Someone who may change only settings must not redirect the bot token.
  if (destination.forwardBotToken) return false;
  const authorizer = resolveAuthorizerConfig(destination);
  // The Verification role itself signs, and its policy names what is behind the address.
  return authorizer?.type !== "sigv4" || authorizer.assumeRoleArn !== undefined;
}

function sortKeys(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sortKeys(entry)]));
}
