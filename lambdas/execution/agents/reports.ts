/** Updates about the tools that an agent elsewhere calls, and the files that it makes. */
import { maxResultBytes } from "@sekisho/contracts/limits.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { sanitizeLine, truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { AgentContext, TaskUpdate } from "./agent.ts";

const maxToolNameLength = 100;

/** Only the name, because arguments may hold secrets. */
export function reportTool(name: string): TaskUpdate[] {
  const text = truncate(sanitizeLine(name), maxToolNameLength);
  return text === "" ? [] : [{ type: "progress", text }];
}

/** Artifacts beyond what a result can hold are left out, because the agent does not know of that limit. */
export function createArtifactReports({
  log,
}: Pick<AgentContext, "log">): (artifact: Artifact) => TaskUpdate[] {
  let bytesLeft = maxResultBytes / 2;
  return (artifact) => {
    const bytes = JSON.stringify(artifact).length;
    if (bytes > bytesLeft) {
      log.warn("agent_artifact_left_out", { cause_kind: "artifact: too_large" });
      return [];
    }
    bytesLeft -= bytes;
    return [{ type: "artifact", artifact }];
  };
}
