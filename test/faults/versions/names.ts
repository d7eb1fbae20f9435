/** The ways in which two versions of the product work side by side. */

/**
 * `turns`: both, in turn, and the old one first. `next_first`: the next one first. `seldom`: the next one first, and then each twelfth
 * time. `upgrade`: the old one and then the next one. `rollback`: the other way round.
 */
type Choice = "old" | "next" | "turns" | "next_first" | "seldom" | "upgrade" | "rollback";

/** For the ingress, the workers of the Verification zone, and the Execution zone. */
export type Mix = { ingress: Choice; worker: Choice; execution: Choice };

export const mixes: Readonly<Record<string, Mix>> = {
  workers: { ingress: "old", worker: "turns", execution: "old" },
  next_first: { ingress: "next_first", worker: "next_first", execution: "next_first" },
  seldom: { ingress: "old", worker: "seldom", execution: "old" },
  ingresses: { ingress: "turns", worker: "turns", execution: "old" },
  hosts: { ingress: "old", worker: "old", execution: "turns" },
  turns: { ingress: "turns", worker: "turns", execution: "turns" },
  upgrade: { ingress: "upgrade", worker: "upgrade", execution: "upgrade" },
  ingress_old: { ingress: "old", worker: "next", execution: "next" },
  ingress_next: { ingress: "next", worker: "old", execution: "old" },
  execution_next: { ingress: "old", worker: "old", execution: "next" },
  execution_old: { ingress: "next", worker: "next", execution: "old" },
  rollback: { ingress: "rollback", worker: "rollback", execution: "rollback" },
};

/** What the old version cannot read is left to the next one, so that there these mixes alone can hold: the next version stays. */
const mixesThatStay = ["workers", "next_first", "seldom", "ingresses", "hosts", "turns", "upgrade"];

/**
 * `minor`: the next version adds members, which the old one keeps. `records`: the old one cannot read its records. `messages`: nor the
 * messages in its queues.
 */
export const kindsOfNext = ["minor", "records", "messages"] as const;
export type KindOfNext = (typeof kindsOfNext)[number];

/** Such as `turns:minor`. */
export const mixNames: readonly string[] = kindsOfNext.flatMap((kind) =>
  (kind === "minor" ? Object.keys(mixes) : mixesThatStay).map((name) => `${name}:${kind}`),
);
