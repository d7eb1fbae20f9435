/**
 * What of the configuration can change on AWS without a deploy: the routes, and those fields of destinations that need no
 * permission. They live in a parameter of Systems Manager, which the stack creates as `{}` and `sekisho config push` owns.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { addressesOf, authorizerConfigOf } from "./destination-address.ts";
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
const anyValue = z.unknown().optional();
const liveFieldsSchema = z.strictObject(
  Object.fromEntries([...liveFields, ...addressFields].map((field) => [field, anyValue])),
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

/** What `config push` stores. */
export function liveSettingsOf({ routes, destinations }: Config): LiveSettings {
  const fields = Object.entries(destinations).map(([name, destination]) => [name, split(destination).live] as const);
  return { routes, destinations: Object.fromEntries(fields) };
}

/** The deployed configuration with the live settings in it. Throws a ConfigError where they do not fit. */
export function withLiveSettings({ config, json }: { config: Config; json: unknown }): Config {
  const parsed = liveSettingsSchema.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new ConfigError("The live settings", problems);
  }
  const { routes = config.routes, destinations: fields = {} } = parsed.data;
  const unknown = Object.keys(fields).filter((name) => !(name in config.destinations));
  if (unknown.length > 0) {
    throw new ConfigError("The live settings", [`destinations ${unknown.join(", ")}: not deployed; needs a deploy`]);
  }
  const destinations = Object.entries(config.destinations).map(([name, destination]) => {
    const { fixed, live } = split(destination);
    // What is not live is as it was deployed, whatever was pushed when it still was live.
    const pushed = Object.entries(fields[name] ?? {}).filter(([field]) => Object.hasOwn(live, field));
    return [name, { ...fixed, ...live, ...Object.fromEntries(pushed) }] as const;
  });
  return parseConfig({ json: { ...config, routes, destinations: Object.fromEntries(destinations) } });
}

export function fingerprintsOf({ destinations }: Pick<Config, "destinations">): Fingerprints {
  const digests = Object.entries(destinations).map(([name, destination]) => {
    const { live, fixed } = split(destination);
    const text = JSON.stringify(sorted({ ...fixed, hasUrl: Object.hasOwn(live, "url") }));
    return [name, createHash("sha256").update(text).digest("hex").slice(0, 12)] as const;
  });
  return Object.fromEntries(digests);
}

/** The destinations that are not as they were deployed in what needs permissions. */
export function needDeploy({ config, deployed }: { config: Config; deployed: Fingerprints }): string[] {
  const wanted = Object.entries(fingerprintsOf(config));
  return wanted.filter(([name, fingerprint]) => deployed[name] !== fingerprint).map(([name]) => name);
}

function split(destination: Destination): { live: LiveFields; fixed: Record<string, unknown> } {
  const addresses = hasLiveAddress(destination) ? addressesOf(destination).map(({ field }) => field) : [];
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
  const authorizer = authorizerConfigOf(destination);
  // Signed as the Verification role itself: its policy names what stands behind the address.
  return authorizer?.type !== "sigv4" || authorizer.assumeRoleArn !== undefined;
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sorted(entry)]));
}
