/** What of the configuration a push brings to a stage, what it leaves as it is there, and what it must refuse. */
import * as z from "zod";
import {
  type Fingerprints,
  type LiveSettings,
  liveSettingsOf,
  needDeploy,
} from "../../lambdas/shared/config/live-settings.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";

export type PushPlan = {
  settings: LiveSettings;
  /** Destinations that need a deploy first. Without any of them in `refused` the push may be made. */
  refused: { name: string; why: string }[];
  /** Destinations that need a deploy too, but that no route uses: nothing of them changes in the stage. */
  leftOut: string[];
};

/** `before`: what was pushed last, whatever it is. A worker refuses settings that name a destination that it does not have. */
export function planPush({
  config,
  deployed,
  before,
}: {
  config: Config;
  deployed: Fingerprints;
  before: unknown;
}): PushPlan {
  const pushed = new Map(Object.entries(pushedSchema.parse(before).destinations));
  const { routes, destinations: wanted = {} } = liveSettingsOf(config);
  const used = new Set(config.routes.flatMap(({ destination }) => destination));
  const behind = needDeploy({ config, deployed }).map((name) => {
    const fields = changedFields({ before: pushed.get(name), after: wanted[name] });
    const edited = fields.length === 0 ? "" : `another ${fields.join(", ")}`;
    return { name, why: used.has(name) ? "a route leads there" : edited };
  });
  const leftOut = behind.filter(({ why }) => why === "").map(({ name }) => name);
  const brought = Object.entries(wanted).filter(([name]) => !leftOut.includes(name));
  // What was pushed for it before stays: without it the deployed fields would be back in force.
  const kept = [...pushed].filter(
    ([name]) => Object.hasOwn(deployed, name) && (leftOut.includes(name) || !Object.hasOwn(wanted, name)),
  );
  return {
    settings: { routes, destinations: Object.fromEntries([...brought, ...kept]) },
    refused: behind.filter(({ why }) => why !== ""),
    leftOut,
  };
}

const fieldsSchema = z.record(z.string(), z.unknown());

/** What cannot be read counts as nothing: it is replaced. */
const pushedSchema = z
  .object({ destinations: z.record(z.string(), fieldsSchema).catch({}) })
  .catch({ destinations: {} });

/** Those that both have. */
function changedFields({
  before = {},
  after = {},
}: {
  before: Record<string, unknown> | undefined;
  after: Record<string, unknown> | undefined;
}): string[] {
  return Object.keys(after).filter((field) => Object.hasOwn(before, field) && before[field] !== after[field]);
}
