/** The requests that show whether a destination works. Neither runs a task. */

import { discoverResultSchema } from "@sekisho/contracts/methods.ts";
import * as z from "zod";
import type { PeerDescription } from "../transport/transport.ts";
import type { CheckResult, HealthRequest } from "./check-result.ts";

/** A healthy peer may not know this method, so an error that says so also proves health. */
export const discoveryRequest: HealthRequest = {
  method: "rpc.discover",
  params: {},
  healthyReasons: ["method_not_found", "unsupported_operation"],
  toCheckResult(answer) {
    if ("code" in answer)
      return healthy(
        `It speaks JSON-RPC. It does not support rpc.discover (optional, error ${answer.code}).`,
      );
    const document = documentSchema.safeParse(answer.result).data;
    if (document === undefined || !discoverResultSchema.safeParse(answer.result).success) {
      return healthy(
        "It speaks JSON-RPC, but its result for rpc.discover is not an OpenRPC document.",
      );
    }
    const { title, version } = document.info;
    return healthy(toPrintable(`${title} ${version}`));
  },
};

/** Asks an A2A agent for a task that cannot exist. The expected error shows that it accepts calls. Its card has its name and version. */
export function createA2aHealthRequest({
  agent,
  taskId,
}: {
  agent: PeerDescription;
  taskId: string;
}): HealthRequest {
  const { name, version, url } = agent;
  return {
    method: "get_task",
    params: { task_id: taskId },
    healthyReasons: ["task_not_found"],
    // Agents of the ADK say so in an internal error.
    healthyWords: "task not found",
    toCheckResult: () =>
      healthy(`${toPrintable(name)}, A2A ${toPrintable(version)} at ${toPrintable(url)}`),
  };
}

const documentSchema = z.looseObject({
  info: z
    .looseObject({ title: z.string().default("untitled"), version: z.string().default("") })
    .default({
      title: "untitled",
      version: "",
    }),
});

function healthy(summary: string): CheckResult {
  return { health: "healthy", summary };
}

/** Removes control characters from a peer's text, because they could drive the terminal that shows it. */
export function toPrintable(text: string): string {
  return text
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "")
    .trim()
    .slice(0, 200);
}
