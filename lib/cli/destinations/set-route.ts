/** Changes one route in the text of the configuration, and leaves the rest of the text as it is. */

import type { Route } from "@sekisho/config/schema.ts";
import { applyEdits, type Edit, findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import { setMember } from "../set-member.ts";
import { isCovering, type RouteKey } from "./route-key.ts";

/** `before`: the destinations of the old route. Undefined where there was none. `position` counts from 1. */
export type RouteChange = { text: string; position: number; before: readonly string[] | undefined };

type RouteSetting = {
  text: string;
  routes: readonly Route[];
  key: RouteKey;
  destination: readonly string[];
};

/**
 * Lets the route with exactly this key lead to `destination`. A new route is put before the first that would take its messages.
 * `text` must be JSON. `routes` are its routes, or the default ones where it has none.
 */
export function setRoute({ text, routes, key, destination }: RouteSetting): RouteChange {
  const knownIndex = routes.findIndex((route) => isCovering(route, key) && isCovering(key, route));
  const previousDestination = routes[knownIndex]?.destination;
  const above = routes.findIndex((route) => isCovering(route, key));
  const index = knownIndex >= 0 ? knownIndex : above >= 0 ? above : routes.length;
  const toChange = (edits: Edit[]): RouteChange => ({
    text: applyEdits(text, edits),
    position: index + 1,
    before: previousDestination,
  });

  const root = parseTree(text);
  const list = root && findNodeAtLocation(root, ["routes"]);
  if (list?.children === undefined) {
    const all = routes.toSpliced(index, knownIndex >= 0 ? 1 : 0, {
      ...key,
      destination: [...destination],
    });
    const value = all.map((route) => ({
      ...route,
      destination: toStoredDestination(route.destination),
    }));
    return { ...toChange([]), text: setMember(text, ["routes"], value) };
  }
  if (knownIndex >= 0) {
    const value = findNodeAtLocation(list, [knownIndex, "destination"]);
    return value === undefined
      ? toChange([])
      : toChange([createReplacement(value, formatJson(toStoredDestination(destination)))]);
  }
  return toChange([
    insertRoute({
      text,
      list,
      index,
      route: formatJson({ ...key, destination: toStoredDestination(destination) }),
    }),
  ]);
}

/** Puts the route on a line of its own where its neighbour is on one. */
function insertRoute({
  text,
  list,
  index,
  route,
}: {
  text: string;
  list: Node;
  index: number;
  route: string;
}): Edit {
  const following = list.children?.[index];
  if (following !== undefined) {
    return {
      offset: following.offset,
      length: 0,
      content: `${route},${spaceBefore(text, following)}`,
    };
  }
  const last = list.children?.at(-1);
  if (last === undefined) return createReplacement(list, `[${route}]`);
  return {
    offset: last.offset + last.length,
    length: 0,
    content: `,${spaceBefore(text, last)}${route}`,
  };
}

function spaceBefore(text: string, { offset }: Node): string {
  const [line = ""] = /(\r?\n)?[ \t]*$/.exec(text.slice(0, offset)) ?? [];
  return line.includes("\n") ? line : " ";
}

function createReplacement({ offset, length }: Node, content: string): Edit {
  return { offset, length, content };
}

function toStoredDestination(destination: readonly string[]): string | readonly string[] {
  const [only = "", ...others] = destination;
  return others.length === 0 ? only : destination;
}

/** Formats JSON in one line, with the spaces that people write. */
function formatJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{ ${fields.map(([name, field]) => `${JSON.stringify(name)}: ${formatJson(field)}`).join(", ")} }`;
}
