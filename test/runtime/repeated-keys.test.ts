import { describe, expect, it } from "@jest/globals";
import {
  findRepeatedKeys,
  hasRepeatedKey,
  isAmbiguousOrTooDeep,
} from "@sekisho/runtime/repeated-keys.ts";
import fc from "fast-check";
import { forAll } from "../doubles/for-all.ts";

const listRepeatedKeys = (json: string) => [...findRepeatedKeys(json)];

/** JSON whose objects keep their members in order, repeated keys and all. */
type Tree = string | number | null | { members: [string, Tree][] } | { entries: Tree[] };

function treeWith(key: fc.Arbitrary<string>): fc.Arbitrary<Tree> {
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom('"', "\\", '{"a":1,', "]"),
  );
  return fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(text, fc.integer(), fc.constant(null)),
      fc.record({ members: fc.array(fc.tuple(key, tie("tree"))) }),
      fc.record({ entries: fc.array(tie("tree")) }),
    ),
  })).tree;
}

const plainKey = fc.constantFrom("a", "b", "c d", "[", ",", "__proto__", "");
const anyKey = fc.oneof(plainKey, fc.constantFrom('"', "\\"), fc.string());

function write(tree: Tree): string {
  if (tree === null || typeof tree !== "object") return JSON.stringify(tree);
  if ("entries" in tree) return `[ ${tree.entries.map(write).join(" , ")}\n]`;
  return `{\n${tree.members.map(([key, value]) => `${JSON.stringify(key)} : ${write(value)}`).join(",")} }`;
}

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return own + Object.values(value).reduce((sum: number, inner) => sum + membersOf(inner), 0);
}

function membersIn(tree: Tree): number {
  if (tree === null || typeof tree !== "object") return 0;
  if ("entries" in tree) return tree.entries.reduce<number>((sum, one) => sum + membersIn(one), 0);
  return tree.members.reduce<number>((sum, [, value]) => sum + 1 + membersIn(value), 0);
}

function repeats(tree: Tree): number {
  if (tree === null || typeof tree !== "object") return 0;
  const inner = "entries" in tree ? tree.entries : tree.members.map(([, value]) => value);
  const keys = "members" in tree ? tree.members.map(([key]) => key) : [];
  return (
    keys.length - new Set(keys).size + inner.reduce<number>((sum, one) => sum + repeats(one), 0)
  );
}

describe("a repeated key", () => {
  it("finds a repeated key with its path in objects and arrays, however it is written", () => {
    expect(
      listRepeatedKeys('{"a":[1,{"x":"{\\"x\\":1}","\\u0078":[2],"y":0}],"b":{},"a":3}'),
    ).toEqual([["a", 1, "x"], ["a"]]);
  });

  it("finds each repetition in any JSON", () => {
    forAll(treeWith(anyKey)).hold((one) =>
      expect(listRepeatedKeys(write(one))).toHaveLength(repeats(one)),
    );
  });

  it("finds repeated keys beside strings that look like keys and below very deep nesting", () => {
    forAll(treeWith(anyKey)).hold((one) => {
      const json = write(one);
      expect(hasRepeatedKey({ json, value: JSON.parse(json) })).toBe(repeats(one) > 0);
      expect(isAmbiguousOrTooDeep({ json, value: JSON.parse(json) })).toBe(repeats(one) > 0);
    });
    const deep = (inner: string) => `${"[".repeat(100_000)}${inner}${"]".repeat(100_000)}`;
    for (const [inner, isRepeated] of [
      ["{}", false],
      ['{"a":1,"a":1}', true],
      ['{"a":":1"}', false],
    ] as const) {
      const json = deep(inner);
      expect(hasRepeatedKey({ json, value: JSON.parse(json) })).toBe(isRepeated);
    }
  });

  // Plain keys: V8's JSON.parse (Node 24.21) has been seen to take a second key `\"` of an object for `\\`.
  it("finds no repeated key in the output of JSON.stringify or where JSON.parse keeps every member", () => {
    forAll(fc.jsonValue(), treeWith(plainKey)).hold((value, one) => {
      expect(listRepeatedKeys(JSON.stringify(value, null, 2))).toEqual([]);
      const text = write(one);
      const keepsAll = membersOf(JSON.parse(text)) === membersIn(one);
      expect(hasRepeatedKey({ json: text, value: JSON.parse(text) })).toBe(!keepsAll);
    });
  });
});
