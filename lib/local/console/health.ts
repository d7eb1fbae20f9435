/** The destinations with their health: checked when somebody looks, each at most once a minute unless it is asked for. */
import type { DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { type DestinationRow, toDestinationRow } from "../../cli/destinations/describe.ts";
import type { EffectiveConfig } from "../../cli/destinations/effective-config.ts";
import { formatRouteKey, orderText } from "../../cli/destinations/route-key.ts";

type Health = { checkedAtMs: number; checked: DestinationCheck } | undefined;

export type DestinationsView = {
  destinations: (DestinationRow & {
    checking: boolean;
    checkedAtMs?: number;
    health?: Omit<DestinationCheck, "name" | "address">;
  })[];
  routes: { place: number; fits: string; leads: string }[];
  routesFromFile: boolean;
};

export type HealthBoard = {
  /** What is known now; begins the checks that are due. */
  view(): Promise<DestinationsView>;
  /** Checks now, but none twice within `minMs`. */
  check(names: readonly string[] | undefined): Promise<void>;
};

export function createHealthBoard({
  read,
  check,
  own,
  dueMs = 60_000,
  minMs = 5000,
  now = Date.now,
}: {
  /** What is in force; asked for at most every `dueMs`. */
  read: () => Promise<EffectiveConfig>;
  /** Never rejects. */
  check: (request: { inForce: EffectiveConfig; name: string }) => Promise<DestinationCheck>;
  /** Where a destination without an address of its own leads. */
  own: (inForce: EffectiveConfig) => Parameters<typeof toDestinationRow>[0]["own"];
  dueMs?: number;
  minMs?: number;
  now?: () => number;
}): HealthBoard {
  const healths = new Map<string, Health>();
  const checking = new Set<string>();
  let known: { atMs: number; inForce: Promise<EffectiveConfig> } | undefined;

  function inForce(): Promise<EffectiveConfig> {
    if (known === undefined || now() - known.atMs >= dueMs) {
      known = { atMs: now(), inForce: read() };
      // What failed is tried again at the next look.
      known.inForce.catch(() => {
        known = undefined;
      });
    }
    return known.inForce;
  }

  function begin(found: EffectiveConfig, names: readonly string[], olderThanMs: number): void {
    for (const name of names) {
      const health = healths.get(name);
      const isDue = health === undefined || now() - health.checkedAtMs >= olderThanMs;
      if (!isDue || checking.has(name) || !Object.hasOwn(found.config.destinations, name)) continue;
      checking.add(name);
      void check({ inForce: found, name }).then((checked) => {
        checking.delete(name);
        healths.set(name, { checkedAtMs: now(), checked });
      });
    }
  }

  return {
    async view() {
      const found = await inForce();
      const { config, notDeployed, routesFromFile } = found;
      begin(found, Object.keys(config.destinations), dueMs);
      return {
        destinations: Object.entries(config.destinations).map(([name, destination]) => {
          const row = {
            name,
            destination,
            routes: config.routes,
            own: own(found),
            needsDeploy: notDeployed.includes(name),
          };
          return { ...toDestinationRow(row), checking: checking.has(name), ...healthOf(healths.get(name)) };
        }),
        routes: config.routes.map((route, index) => ({
          place: index + 1,
          fits: formatRouteKey(route),
          leads: orderText(route.destination),
        })),
        routesFromFile,
      };
    },
    async check(names) {
      const found = await inForce();
      begin(found, names ?? Object.keys(found.config.destinations), minMs);
    },
  };
}

function healthOf(health: Health) {
  if (health === undefined) return {};
  const { name: _name, address: _address, ...said } = health.checked;
  return { checkedAtMs: health.checkedAtMs, health: said };
}
