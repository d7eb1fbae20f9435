/** Checks the health of each destination while somebody looks at the page: once a minute, or on request. */
import type { DestinationHealth, DestinationsView } from "@sekisho/local/web/operators-api.ts";
import type { DestinationCheck } from "@sekisho/verification/checks/check-destination.ts";
import { toDestinationRow } from "../destinations/describe.ts";
import type { EffectiveConfig } from "../destinations/effective-config.ts";
import { formatRouteKey, orderText } from "../destinations/route-key.ts";

export type HealthBoard = {
  /** Returns the results that are known now. Starts the checks that are due. */
  view(): Promise<DestinationsView>;
  /** Checks the named destinations now, or all of them, but none twice within `minMs`. */
  check(names: readonly string[] | undefined): Promise<void>;
};

const dueMs = 60_000;
const minMs = 5000;

type HealthOptions = {
  /** Reads the configuration in effect. Called at most every `dueMs`. */
  read: () => Promise<EffectiveConfig>;
  /** Never rejects. */
  check: (request: { effective: EffectiveConfig; name: string }) => Promise<DestinationCheck>;
  /** The address and authorizer of a destination that has none of its own. */
  own: Parameters<typeof toDestinationRow>[0]["own"];
  now?: () => number;
};

export function createHealthBoard({
  read: readConfig,
  check,
  own,
  now = Date.now,
}: HealthOptions): HealthBoard {
  const healths = new Map<string, DestinationHealth>();
  const checking = new Set<string>();
  let cachedConfig: { atMs: number; effective: Promise<EffectiveConfig> } | undefined;

  function readCached(): Promise<EffectiveConfig> {
    if (cachedConfig === undefined || now() - cachedConfig.atMs >= dueMs) {
      cachedConfig = { atMs: now(), effective: readConfig() };
      // A failure is not cached, so the next view tries again.
      cachedConfig.effective.catch(() => {
        cachedConfig = undefined;
      });
    }
    return cachedConfig.effective;
  }

  function startChecks(
    effective: EffectiveConfig,
    names: readonly string[],
    olderThanMs: number,
  ): void {
    for (const name of names) {
      const { checkedAtMs = Number.NEGATIVE_INFINITY } = healths.get(name) ?? {};
      const isDue = now() - checkedAtMs >= olderThanMs;
      if (!isDue || checking.has(name) || !Object.hasOwn(effective.config.destinations, name))
        continue;
      checking.add(name);
      void check({ effective, name }).then(({ name: _name, address: _address, ...health }) => {
        checking.delete(name);
        healths.set(name, { checkedAtMs: now(), health });
      });
    }
  }

  return {
    async view() {
      const effective = await readCached();
      const { config, notDeployed } = effective;
      const { destinations, routes } = config;
      startChecks(effective, Object.keys(destinations), dueMs);
      return {
        destinations: Object.entries(destinations).map(([name, destination]) => {
          const needsDeploy = notDeployed.includes(name);
          const row = toDestinationRow({ name, destination, routes, own, needsDeploy });
          return { ...row, checking: checking.has(name), ...healths.get(name) };
        }),
        routes: routes.map((route, index) => ({
          position: index + 1,
          fits: formatRouteKey(route),
          leads: orderText(route.destination),
        })),
      };
    },
    async check(names) {
      const effective = await readCached();
      startChecks(effective, names ?? Object.keys(effective.config.destinations), minMs);
    },
  };
}
