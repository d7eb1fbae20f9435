/**
 * What of the configuration can change on AWS without a deploy: the routes, and those fields of destinations that need no
 * permission. They live in a parameter of Systems Manager, which the stack creates as `{}` and `sekisho config push` owns.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { listAddresses, resolveAuthorizerConfig } from "./destination-address.ts";
import type { Destination } from "./destination-schema.ts";
import { ConfigError, parseConfig } from "./load.ts";
import type { Config } from "./schema.ts";

/** As far as a destination has them. `version` is A2A's. */
const liveFields = [
  "deadlineMs",
  "concurrency",
  "longPollMs",
  "dialect",
  "idempotent",
  "maxResponseBytes",
  "questions",
  "version",
];
/** Only where the address is not what is permitted. */
const addressFields = ["card", "url"];
/** Fields that belong to one peer or to one transport. The other live fields are the operator's choice for any peer. */
const peerFields = [...addressFields, "dialect", "idempotent", "longPollMs", "version"];
const anyValue = z.unknown().optional();
/** A field that this version does not know is left out: another version may have pushed it before a rollback. */
const liveFieldsSchema = z.object(
  Object.fromEntries([...liveFields, ...addressFields, "fingerprint"].map((field) => [field, anyValue])),
);
type LiveFields = z.infer<typeof liveFieldsSchema>;

/** The fields' own shapes are those of the configuration, which checks them when they are joined with it. */
const liveSettingsSchema = z.strictObject({
  routes: z.unknown().optional(),
  destinations: z.record(z.string(), liveFieldsSchema).optional(),
});
export type LiveSettings = z.infer<typeof liveSettingsSchema>;

/** By name: what a destination needs to be permitted. Two of the same fingerprint differ in live fields alone. */
export type Fingerprints = Record<string, string>;

/** The live settings that `config push` stores. The fingerprint says for which peer and credentials the fields were pushed. */
export function toLiveSettings({ routes, destinations }: Config): LiveSettings {
  const fingerprints = createFingerprints({ destinations });
  const fields = Object.entries(destinations).map(
    ([name, destination]) => [name, { fingerprint: fingerprints[name], ...split(destination).live }] as const,
  );
  return { routes, destinations: Object.fromEntries(fields) };
}

/**
 * The deployed configuration with the live settings in it. What they say of a destination that is not deployed is left out, so that
 * routes still hold after a rollback; a route that leads there is refused. An address that was pushed for other credentials is
 * left out too, since the deployed credentials must not be sent there. Throws a ConfigError where they do not fit.
 */
export function withLiveSettings({
  config,
  json,
  deployed = createFingerprints(config),
}: {
  config: Config;
  json: unknown;
  deployed?: Fingerprints;
}): Config {
  const { routes = config.routes, destinations: pushed = {} } = parseLiveSettings(json);
  const outdated = outdatedNames({ pushed, deployed });
  const destinations = Object.entries(config.destinations).map(([name, destination]) => {
    const { fixed, live } = split(destination);
    const isForPeer = !outdated.includes(name);
    // What is not live is as it was deployed, whatever was pushed when it still was live.
    const fields = Object.entries(pushed[name] ?? {}).filter(
      ([field]) => Object.hasOwn(live, field) && (isForPeer || !peerFields.includes(field)),
    );
    return [name, { ...fixed, ...live, ...Object.fromEntries(fields) }] as const;
  });
  return parseConfig({ json: { ...config, routes, destinations: Object.fromEntries(destinations) } });
}

/**
 * The deployed destinations whose settings were pushed before they got another peer, credential or permission. Their deployed
 * addresses are in effect. Throws a ConfigError where the settings cannot be read.
 */
export function outdatedSettings({ json, deployed }: { json: unknown; deployed: Fingerprints }): string[] {
  return outdatedNames({ pushed: parseLiveSettings(json).destinations ?? {}, deployed });
}

function outdatedNames({ pushed, deployed }: { pushed: Record<string, LiveFields>; deployed: Fingerprints }): string[] {
  return Object.entries(pushed).flatMap(([name, { fingerprint }]) =>
    Object.hasOwn(deployed, name) && deployed[name] !== fingerprint ? [name] : [],
  );
}

function parseLiveSettings(json: unknown): LiveSettings {
  const parsed = liveSettingsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ConfigError("The live settings", problems);
}

export function createFingerprints({ destinations }: Pick<Config, "destinations">): Fingerprints {
  const digests = Object.entries(destinations).map(([name, destination]) => {
    const { live, fixed } = split(destination);
    const text = JSON.stringify(sorted({ ...fixed, hasUrl: Object.hasOwn(live, "url") }));
    return [name, createHash("sha256").update(text).digest("hex").slice(0, 12)] as const;
  });
  return Object.fromEntries(digests);
}

/** The destinations that are not as they were deployed in what needs permissions. */
export function listUndeployedChanges({ config, deployed }: { config: Config; deployed: Fingerprints }): string[] {
  const wanted = Object.entries(createFingerprints(config));
  return wanted.filter(([name, fingerprint]) => deployed[name] !== fingerprint).map(([name]) => name);
}

function split(destination: Destination): { live: LiveFields; fixed: Record<string, unknown> } {
  const addresses = hasLiveAddress(destination) ? listAddresses(destination).map(({ field }) => field) : [];
  const isLive = (field: string) => [...liveFields, ...addresses].includes(field);
  const fields = Object.entries(destination);
  return {
    live: Object.fromEntries(fields.filter(([field]) => isLive(field))),
    fixed: Object.fromEntries(fields.filter(([field]) => !isLive(field))),
  };
}

function hasLiveAddress(destination: Destination): boolean {
  // Where the bot token goes is not to be changed by whoever may only change settings.
  if (destination.forwardBotToken) return false;
  const authorizer = resolveAuthorizerConfig(destination);
  // Signed as the Verification role itself: its policy names what stands behind the address.
  return authorizer?.type !== "sigv4" || authorizer.assumeRoleArn !== undefined;
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sorted(entry)]));
}
