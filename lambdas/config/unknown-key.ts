/** Says which key or name was probably meant, for one that does not exist. */

import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import type * as z from "zod";

/** The keys that the object at `path` may have, so that a wrong one can be explained. Empty for a place without fixed keys. */
export function knownKeys({
  schema,
  json,
  path,
}: {
  schema: z.core.$ZodType;
  json: unknown;
  path: PropertyKey[];
}) {
  let places: Place[] = open({ schema, json });
  for (const step of path) {
    const inner =
      isJsonObject(json) || Array.isArray(json)
        ? (json as Record<PropertyKey, unknown>)[step]
        : undefined;
    json = inner;
    places = places.flatMap((place) => {
      const next = place.type === "object" ? place.shape[String(step)] : place.element;
      return next === undefined ? [] : open({ schema: next, json });
    });
  }
  return [
    ...new Set(
      places.flatMap((place) => (place.type === "object" ? Object.keys(place.shape) : [])),
    ),
  ];
}

type Place =
  | { type: "object"; shape: Record<string, z.core.$ZodType> }
  | { type: "each"; element: z.core.$ZodType };

/** The objects and lists behind defaults, transformations and unions. Of a union with a discriminator only the one that is meant. */
function open({ schema, json }: { schema: z.core.$ZodType; json: unknown }): Place[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object":
      return [{ type: "object", shape: def.shape }];
    case "record":
      return [{ type: "each", element: def.valueType }];
    case "array":
      return [{ type: "each", element: def.element }];
    case "optional":
    case "default":
    case "prefault":
      return open({ schema: def.innerType, json });
    case "pipe":
      return open({ schema: def.in, json });
    case "union":
      return def.options.flatMap((option) =>
        open({ schema: option, json }).filter((place) => isMeant(place, json)),
      );
    default:
      return [];
  }
}

/** False if a constant of the object differs from the value, as `type` does in the other members of a union. */
function isMeant(place: Place, json: unknown): boolean {
  if (place.type !== "object" || !isJsonObject(json)) return true;
  return Object.entries(place.shape).every(([key, field]) => {
    const { def } = (field as z.core.$ZodTypes)._zod;
    return def.type !== "literal" || (def.values as unknown[]).includes(json[key]);
  });
}

/** The one of `names` that is most like `given`; undefined if none is alike. */
export function findClosest(unknownName: string, names: readonly string[]): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const plainName = plain(unknownName).slice(0, 100);
  const ranked = names
    .map((name) => ({ name, distance: editDistance(plainName, plain(name)) }))
    .filter(
      ({ name, distance }) =>
        distance <= Math.max(1, Math.floor(name.length / 3)) && distance < plainName.length,
    )
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0]?.name;
}

/** How many letters must be inserted, removed, replaced or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const steps = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps.push((beforeLast[j - 2] ?? 0) + 1);
      row.push(Math.min(...steps));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
