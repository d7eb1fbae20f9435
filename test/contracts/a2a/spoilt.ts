/** Valid values with one change. */
import fc from "fast-check";
import { wire } from "./wire.ts";

const nonsense: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, "", "x", 0, -1, 1.5, true, [], {}, [null], { kind: "text" }, "__proto__", undefined),
  fc.jsonValue({ maxDepth: 1 }),
);

/** The value itself, another value, or the value with one member replaced at any depth. */
export function spoilt(right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.record({ value: right, other: nonsense, at: fc.nat() }).map(({ value, other, at }) => {
    const sent = wire(value);
    return wire(replaceAt({ value: sent, other, at: at % (sizeOf(sent) + 1) }));
  });
}

/** Counts members in their order, the whole first. Past the last one nothing is replaced. */
function replaceAt({ value, other, at }: { value: unknown; other: unknown; at: number }): unknown {
  let left = at;
  const visit = (member: unknown): unknown => {
    left -= 1;
    if (left === -1) return other;
    if (Array.isArray(member)) return member.map(visit);
    if (typeof member !== "object" || member === null) return member;
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [name, visit(inner)]));
  };
  return visit(value);
}

function sizeOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((size: number, member) => size + sizeOf(member), 1);
}
