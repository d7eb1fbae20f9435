/** What the agent wrote down: how often it was started for a request, and what it did at the same time. Pure. */

/** In the order in which they were written. */
export type AgentEntry = { what: "start" | "end"; requestId: string; pid: string };

export function parseAgentLog(text: string): AgentEntry[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [what, requestId = "", pid = ""] = line.split(" ");
      return { what: what === "start" ? "start" : "end", requestId, pid };
    });
}

/** For each request, those whose agent was at work when its own started. A process that is gone works no more. */
export function overlapsOf(entries: readonly AgentEntry[]): Map<string, string[]> {
  const overlaps = new Map<string, string[]>();
  let working: AgentEntry[] = [];
  for (const entry of entries) {
    working = working.filter(({ pid, requestId }) => pid === entry.pid && requestId !== entry.requestId);
    if (entry.what === "end") continue;
    overlaps.set(
      entry.requestId,
      working.map(({ requestId }) => requestId),
    );
    working.push(entry);
  }
  return overlaps;
}
