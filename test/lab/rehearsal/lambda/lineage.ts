/** Chains of invocations. The `Lineage` of a trace header, which AWS passes from functions to queues and back, counts them. */
import { hash, randomBytes } from "node:crypto";

/** AWS says "approximately 16". The next invocation of a chain is refused. */
export const mostInChain = 16;

/**
 * `traces` are the trace headers of the messages that invoke the function. Returns the header that the function gets, and the number
 * of its invocation in the chain, from 1. AWS does not say how a batch of several chains counts. Here it counts as the longest one.
 */
export function continueChain({
  traces,
  functionArn,
}: {
  traces: readonly string[];
  functionArn: string;
}): {
  trace: string;
  invocation: number;
} {
  const counts = new Map<string, number>();
  for (const [id, count] of traces.flatMap(lineageOf))
    counts.set(id, Math.max(count, counts.get(id) ?? 0));
  const own = hash("md5", functionArn).slice(0, 8);
  // The first invocation of a chain has the count 0.
  const count = (counts.get(own) ?? -1) + 1;
  counts.set(own, count);
  const [root = newRoot()] = traces.flatMap((trace) => /Root=([^;]+)/.exec(trace)?.[1] ?? []);
  const lineage = [...counts].map(([id, times]) => `${id}:${times}`).join("|");
  const parent = randomBytes(8).toString("hex");
  return {
    trace: `Root=${root};Parent=${parent};Sampled=0;Lineage=${lineage}`,
    invocation: count + 1,
  };
}

function lineageOf(trace: string): [id: string, count: number][] {
  const [, lineage = ""] = /Lineage=([^;]+)/.exec(trace) ?? [];
  return [...lineage.matchAll(/([0-9a-f]+):(\d+)/g)].map(([, id = "", count]) => [
    id,
    Number(count),
  ]);
}

function newRoot(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `1-${seconds}-${randomBytes(12).toString("hex")}`;
}
