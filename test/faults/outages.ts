/** Outages: a party is away, or a whole zone is off, from one moment of the run to another; sometimes two parties at once. */
import type { Kind, Point } from "./faults.ts";

/** `way` is the way between the zones; `verification` and `execution` are the processes of that zone, which are off as a whole. */
export const parties = [
  "store",
  "queue",
  "slack",
  "tasks",
  "way",
  "verification",
  "execution",
] as const;
export type Party = (typeof parties)[number];

/** `limited`: Slack answers that it was asked too often. */
export const manners = ["refused", "lost", "limited"] as const;
export type Manner = (typeof manners)[number];

/** In whole seconds since the beginning of the run. */
export type Outage = {
  parties: readonly Party[];
  fromSeconds: number;
  seconds: number;
  manner: Manner;
};

const pointsOf: Record<Party, RegExp> = {
  store: /^store\./,
  queue: /^(queue|push)\.(send|finish)/,
  // What Slack tells us comes by itself.
  slack: /^(slack\.(?!event|button_click)|files\.)/,
  tasks: /^(tasks\.|work\.(send|finish))/,
  way: /^(transport|asker)\./,
  // Their processes are not there to begin anything.
  verification: /^$/,
  execution: /^$/,
};

/** The fate of an operation that begins at this time of the run. */
export function outageFate({
  outages,
  sinceMs,
  point,
  possible,
}: {
  outages: readonly Outage[];
  sinceMs: number;
  point: Point;
  possible: readonly Kind[];
}): Kind | undefined {
  const outage = outages.find(
    (one) => isDuring(one, sinceMs) && one.parties.some((party) => pointsOf[party].test(point)),
  );
  if (outage === undefined) return undefined;
  const order = [outage.manner, "refused", "lost"] as const;
  return order.find((kind) => possible.includes(kind));
}

export function isDuring({ fromSeconds, seconds }: Outage, sinceMs: number): boolean {
  return sinceMs >= 1000 * fromSeconds && sinceMs < 1000 * (fromSeconds + seconds);
}

/** The length of all outages together. */
export function awayMs(outages: readonly Outage[]): number {
  return outages.reduce((sum, { seconds }) => sum + 1000 * seconds, 0);
}

/** Such as `store+slack@5+600:lost`: for ten minutes, from five seconds after the beginning. */
export function compactOutage({ parties: away, fromSeconds, seconds, manner }: Outage): string {
  return `${away.join("+")}@${fromSeconds}+${seconds}:${manner}`;
}

/** Throws an Error for a person. */
export function parseOutage(text: string): Outage {
  const [, names = "", from, lasts, how] =
    /^([a-z+]+)@(\d{1,6})\+(\d{1,6}):([a-z]+)$/.exec(text) ?? [];
  const away = names.split("+").map((name) => parties.find((party) => party === name));
  const manner = manners.find((one) => one === how);
  if (from === undefined || manner === undefined || !away.every((party) => party !== undefined)) {
    throw new Error(`"${text}" is no outage such as store+slack@5+600:lost.`);
  }
  return { parties: away, fromSeconds: Number(from), seconds: Number(lasts), manner };
}
