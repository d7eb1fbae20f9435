/**
 * Compares a released contract with the current one. The zones are deployed one after the other, so either may be the older: a host must
 * take an old client's requests, and results and errors must be understood in both directions. Every difference that is not known to be
 * safe counts as a break.
 */
import { isDeepStrictEqual } from "node:util";

/** The parsed files of a contract by their paths below `contracts/generated`. */
export type ContractFiles = ReadonlyMap<string, unknown>;

type Contracts = { released: ContractFiles; current: ContractFiles };

type OpenRpcFile = {
  methods: readonly { name: string; paramStructure?: string }[];
  components: {
    errors: Readonly<Record<string, { code: number; data?: { retryable?: boolean } }>>;
  };
};

/** One line for each break: the schema, the path in the value, and what changed. */
export function breakingChanges({ released, current }: Contracts): string[] {
  const [before, now] = [released, current].map(
    (files) => files.get("openrpc.json") as OpenRpcFile,
  );
  if (before === undefined || now === undefined)
    throw new Error("The contract has no openrpc.json.");
  const isThere = ({ name, paramStructure }: OpenRpcFile["methods"][number]) =>
    now.methods.some((method) => method.name === name && method.paramStructure === paramStructure);
  const gone = before.methods.filter((method) => !isThere(method)).map(({ name }) => name);
  return [
    ...gone.map((name) => `${name}: the method is gone`),
    ...changedErrors({ before: before.components.errors, now: now.components.errors }),
    ...[...released].flatMap(([file, schema]) => {
      const [, name] = /^schemas\/(.+)\.json$/.exec(file) ?? [];
      if (name === undefined || gone.some((method) => name.startsWith(`${method}.`))) return [];
      if (!current.has(file)) return [`${name}: the schema is gone`];
      const mayWiden = name === "request" || name.endsWith(".params");
      return changedKeywords({
        before: normalize(schema),
        now: normalize(current.get(file)),
        path: name,
        mayWiden,
      });
    }),
  ];
}

/**
 * A decoder reads `data.reason` first and the number second. It takes an unknown reason with an unknown number for `internal`, which is
 * safe. With the number of a known reason it would take it for that one.
 */
function changedErrors({
  before,
  now,
}: Record<"before" | "now", OpenRpcFile["components"]["errors"]>): string[] {
  const ofOld = Object.entries(before).flatMap(([reason, { code, data }]) => {
    const same = now[reason];
    if (same === undefined) return [`error ${reason}: the reason is gone`];
    if (same.code !== code) return [`error ${reason}: code is ${same.code}, and was ${code}`];
    return same.data?.retryable === data?.retryable
      ? []
      : [`error ${reason}: retryable has changed`];
  });
  const ofNew = Object.entries(now).flatMap(([reason, { code }]) => {
    const [taken] =
      reason in before ? [] : Object.keys(before).filter((other) => before[other]?.code === code);
    return taken === undefined
      ? []
      : [`error ${reason}: an old client reads its code ${code} as ${taken}`];
  });
  return [...ofOld, ...ofNew];
}

export type Schema = {
  readonly type?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly [keyword: string]: unknown;
};

const forPeople = ["$schema", "$id", "$comment", "title", "description", "examples", "deprecated"];

/** One spelling of a JSON Schema: `const` becomes an `enum` of one, `type` a list, `false` the schema that takes nothing. */
export function normalize(json: unknown): Schema {
  if (json === false) return { not: {} };
  const entries = Object.entries(Object(json)).flatMap(([keyword, value]): [string, unknown][] => {
    if (forPeople.includes(keyword)) return [];
    if (keyword === "const") return [["enum", [value]]];
    if (keyword === "type") return [["type", [value].flat()]];
    if (keyword === "properties") {
      return [
        [
          keyword,
          Object.fromEntries(
            Object.entries(Object(value)).map(([name, one]) => [name, normalize(one)]),
          ),
        ],
      ];
    }
    if (keyword === "anyOf" || keyword === "oneOf")
      return [[keyword, (value as unknown[]).map(normalize)]];
    return [
      [
        keyword,
        keyword === "items" || keyword === "additionalProperties" ? normalize(value) : value,
      ],
    ];
  });
  return Object.fromEntries(entries);
}

/** `mayWiden`: the current schema may take more than before, as it may for whatever only the host reads. */
type Pair = { before: Schema; now: Schema; path: string; mayWiden: boolean };

function changedKeywords(pair: Pair): string[] {
  const { before, now, path, mayWiden } = pair;
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((keyword) => {
    switch (keyword) {
      case "properties":
        return changedFields(pair);
      case "required": {
        const { required: was = [] } = before;
        const { required: is = [] } = now;
        return [
          ...is
            .filter((name) => !was.includes(name))
            .map((name) => `${path}/${name}: is required now`),
          ...(mayWiden
            ? []
            : was
                .filter((name) => !is.includes(name))
                .map((name) => `${path}/${name}: may be absent now`)),
        ];
      }
      case "items":
      case "additionalProperties":
        return changedKeywords({
          ...pair,
          before: before[keyword] ?? {},
          now: now[keyword] ?? {},
          path: `${path}/*`,
        });
      case "anyOf":
      case "oneOf":
        return changedVariants(pair, keyword);
      default: {
        const [was, is] = [before[keyword], now[keyword]];
        const isSame = isDeepStrictEqual(was, is) || (mayWiden && isWider({ keyword, was, is }));
        // The reasons are compared by their numbers.
        if (isSame || (path === "error.data/reason" && keyword === "enum")) return [];
        return [`${path}: ${keyword} is ${toText(is)}, and was ${toText(was)}`];
      }
    }
  });
}

/** A new field breaks nothing: unknown ones were ignored, so nobody has sent it. */
function changedFields({ before, now, path, mayWiden }: Pair): string[] {
  return Object.entries(before.properties ?? {}).flatMap(([name, field]) => {
    const same = now.properties?.[name];
    if (same === undefined) return [`${path}/${name}: is gone`];
    return changedKeywords({ before: field, now: same, path: `${path}/${name}`, mayWiden });
  });
}

/** Variants are compared by their order. Only `anyOf` may get a new one, because two variants of `oneOf` may not overlap. */
function changedVariants(
  { before, now, path, mayWiden }: Pair,
  keyword: "anyOf" | "oneOf",
): string[] {
  const [was, is] = [before[keyword], now[keyword]];
  if (is === undefined && mayWiden) return [];
  if (was === undefined || is === undefined)
    return [`${path}: ${keyword} is ${is ? "new" : "gone"}`];
  const isMore = is.length > was.length && mayWiden && keyword === "anyOf";
  if (is.length !== was.length && !isMore)
    return [`${path}: ${keyword} has ${is.length} variants, and had ${was.length}`];
  return was.flatMap((variant, at) =>
    changedKeywords({ before: variant, now: is[at] ?? {}, path, mayWiden }),
  );
}

function isWider({ keyword, was, is }: { keyword: string; was: unknown; is: unknown }): boolean {
  if (was === undefined || is === undefined) return is === undefined;
  if ((keyword === "type" || keyword === "enum") && Array.isArray(was) && Array.isArray(is)) {
    const isTaken = (value: unknown) => is.some((one) => isDeepStrictEqual(one, value));
    return was.every(
      (value) => isTaken(value) || (keyword === "type" && value === "integer" && isTaken("number")),
    );
  }
  if (!/^m(in|ax)/.test(keyword)) return false;
  return keyword.startsWith("min") ? Number(is) <= Number(was) : Number(is) >= Number(was);
}

function toText(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}
