/** The state of the keys that sign who asked, and what to do about it. */
import { type AskerConfig, defaultKeyTime } from "@sekisho/config/asker-schema.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import type { Published } from "./issuer.ts";
import type { PublicKey } from "./public-keys.ts";
import { type RankedKey, rankKeys } from "./rotation.ts";

const dayMs = 24 * 3600_000;
/** NIST SP 800-57, part 1, section 5.3.6, advises one to three years for a private signature key. */
const maxAgeDays = 365;

export type KeyStatus = RankedKey & {
  kid: string | undefined;
  isPublished: boolean;
  /** Since it signs. Negative for the next key. */
  ageDays: number;
};

/** `problems` are sentences for a person: what is wrong, and what to do. Empty if all is well. */
export type AskerStatus = { keys: KeyStatus[]; problems: { what: string; remedy: string }[] };

/** `stageOption` is ` --stage NAME`, or empty for this machine. */
export function describeStatus(options: {
  asker: AskerConfig;
  publicKeys: readonly PublicKey[];
  published: Published;
  nowMs: number;
  stageOption: string;
}): AskerStatus {
  const { asker, publicKeys, published, nowMs, stageOption } = options;
  const keysById = new Map(publicKeys.map((key) => [key.id, key]));
  const keys = rankKeys(asker.keys, nowMs).map((key): KeyStatus => {
    const publicKey = keysById.get(key.id);
    const isPublished = publicKey !== undefined && isAmong(publicKey, published.keys);
    const ageDays = Math.floor((nowMs - Date.parse(key.from)) / dayMs);
    return { ...key, kid: publicKey?.kid, isPublished, ageDays };
  });
  const publish = `Run ${sekisho} asker publish --to DIR${stageOption}, and put the files below ${asker.issuer}.`;
  const create = stageOption === "" ? publish : "Deploy the stage, which creates it.";
  const rotate = `Run ${sekisho} asker rotate.`;
  const neededKeys = keys.filter(({ role }) => role !== "superseded");
  const problems = [
    ...(published.problem === undefined ? [] : [{ what: published.problem, remedy: publish }]),
    ...neededKeys.flatMap(({ id, kid, role, from, isPublished }) => {
      const name = role === "signs" ? `The key ${id}, which signs,` : `The key ${id}`;
      if (kid === undefined) return [{ what: `${name} does not exist yet.`, remedy: create }];
      if (isPublished || published.problem !== undefined) return [];
      const effect =
        role === "signs"
          ? "Verifiers refuse its tokens."
          : `It signs from ${from}, and verifiers must know it some hours before.`;
      return [{ what: `${name} is not among the issuer's keys. ${effect}`, remedy: publish }];
    }),
    ...neededKeys.flatMap(({ id, role, from }) =>
      role === "signs" && Date.parse(from) > nowMs
        ? [
            {
              what: `The key ${id} signs already, because no key is to sign before ${from}.`,
              remedy: `Check the clock of this machine, and "from" in asker.keys.`,
            },
          ]
        : [],
    ),
    ...neededKeys.flatMap(({ id, role, from, ageDays }) =>
      role === "signs" &&
      from !== defaultKeyTime &&
      ageDays > maxAgeDays &&
      keys.every((key) => key.role !== "next")
        ? [{ what: `The key ${id} has signed for ${ageDays} days.`, remedy: rotate }]
        : [],
    ),
    ...keys.flatMap(({ id, role, supersededAtMs = nowMs }) =>
      role === "superseded" && nowMs - supersededAtMs > dayMs
        ? [{ what: `The key ${id} is over, and no token of it is valid.`, remedy: rotate }]
        : [],
    ),
  ];
  return { keys, problems };
}

/** Also compares the key itself, because verifiers find it by its `kid` and then use what is there. */
function isAmong({ jwk }: PublicKey, keys: Published["keys"]): boolean {
  return keys.some((key) => Object.entries(jwk).every(([name, member]) => key[name] === member));
}
