/**
 * Circles between the parts of one folder: its files, and each of its sub-folders as a whole. `a/x/1.ts` importing `a/y/z/2.ts` counts as
 * `a/x` importing `a/y`. So any circle of files or folders is one of parts, in the folder that holds them all.
 */
import type { Source } from "./source.ts";

/** For each part the parts that it imports, and a file that does. */
type Graph = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** `path` is one file of the circle, and `imports` says which part imports which, and where. */
type Circle = { path: string; imports: readonly string[] };

/** Types are included. */
export function findCircles(sources: readonly Source[]): readonly Circle[] {
  const graph = connectParts(sources);
  return listCircles(graph).map((parts) => {
    const edges = parts.flatMap((from) =>
      [...(graph.get(from) ?? [])]
        .filter(([to]) => parts.includes(to))
        .map(([to, path]) => ({ text: `${from} imports ${to} (${path})`, path })),
    );
    return { path: edges[0]?.path ?? "", imports: edges.map(({ text }) => text) };
  });
}

function connectParts(sources: readonly Source[]): Graph {
  const paths = new Set(sources.map(({ path }) => path));
  const graph = new Map<string, Map<string, string>>();
  for (const { path, imports } of sources) {
    for (const { target } of imports.filter((one) => paths.has(one.target))) {
      const { from, to } = toParts({ path, target });
      const targets = graph.get(from) ?? new Map<string, string>();
      graph.set(from, targets.set(to, targets.get(to) ?? path));
    }
  }
  return graph;
}

/** The parts of the innermost folder that holds both files. */
function toParts({ path, target }: { path: string; target: string }): { from: string; to: string } {
  const [own, other] = [path.split("/"), target.split("/")];
  const fork = own.findIndex((name, depth) => name !== other[depth]);
  const length = fork === -1 ? own.length : fork + 1;
  return { from: own.slice(0, length).join("/"), to: other.slice(0, length).join("/") };
}

/** Tarjan's strongly connected components of more than one part, and parts that import themselves. Each is sorted. */
function listCircles(graph: Graph): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];

  function visit(part: string): number {
    const own = order.size;
    order.set(part, own);
    open.push(part);
    let least = own;
    for (const target of graph.get(part)?.keys() ?? []) {
      if (target === part) circles.push([part]);
      else if (!order.has(target)) least = Math.min(least, visit(target));
      else if (open.includes(target)) least = Math.min(least, order.get(target) ?? least);
    }
    if (least === own) {
      const group = open.splice(open.indexOf(part));
      if (group.length > 1) circles.push(group.sort());
    }
    return least;
  }

  for (const part of graph.keys()) if (!order.has(part)) visit(part);
  return circles;
}
