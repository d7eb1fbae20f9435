/**
 * What of the configuration can change on AWS without a deploy: the routes, and those fields of destinations that need no
 * permission. They live in a parameter of Systems Manager, which the stack creates as `{}` and `sekisho config push` owns.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { Destination } from "./destination-schema.ts";
import { ConfigError, parseConfig } from "./load.ts";
import type { Config } from "./schema.ts";

const liveFieldsSchema = z.strictObject({
  deadlineMs: z.unknown().optional(),
  concurrency: z.unknown().optional(),
  longPollMs: z.unknown().optional(),
  dialect: z.unknown().optional(),
  idempotent: z.unknown().optional(),
  maxResponseBytes: z.unknown().optional(),
  /** Only where the address is not what is permitted. */
  url: z.unknown().optional(),
});
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
    const { url = live.url, ...others } = fields[name] ?? {};
    // An address that is not live is the deployed one, whatever was pushed when it still was live.
    const address = live.url === undefined ? {} : { url };
    return [name, { ...fixed, ...live, ...others, ...address }] as const;
  });
  return parseConfig({ json: { ...config, routes, destinations: Object.fromEntries(destinations) } });
}

export function fingerprintsOf({ destinations }: Pick<Config, "destinations">): Fingerprints {
  const digests = Object.entries(destinations).map(([name, destination]) => {
    const { live, fixed } = split(destination);
    const text = JSON.stringify(sorted({ ...fixed, hasUrl: live.url !== undefined }));
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
  const { deadlineMs, concurrency, longPollMs, dialect, idempotent, maxResponseBytes, ...fixed } = destination;
  const live: LiveFields = { deadlineMs, concurrency, longPollMs, dialect, idempotent, maxResponseBytes };
  if (fixed.transport !== "https" || fixed.url === undefined) return { live, fixed };
  // Where the bot token goes is not to be changed by whoever may only change settings.
  if (isPermittedByAddress(fixed.authorizer) || fixed.forwardBotToken) return { live, fixed };
  const { url, ...rest } = fixed;
  return { live: { ...live, url }, fixed: rest };
}

/** Signed as the Verification role itself: its policy names what stands behind the address. */
function isPermittedByAddress(authorizer: AuthorizerConfig): boolean {
  return authorizer.type === "sigv4" && authorizer.assumeRoleArn === undefined;
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sorted(entry)]));
}
