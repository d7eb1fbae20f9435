/** What a destination is asked so as to learn whether it can be used. No task is run. */
import * as z from "zod";
import { discoverResultSchema } from "../../../contracts/methods.ts";
import type { PeerDescription } from "../transport/transport.ts";
import type { CheckResult, HealthRequest } from "./check-result.ts";

/** Further ones are left out: the answer of a function has a limit. */
const mostMethods = 100;

/** A peer need not know the method. */
export const discoveryRequest: HealthRequest = {
  method: "rpc.discover",
  params: {},
  understood: ["method_not_found", "unsupported_operation"],
  toCheckResult(answer) {
    if ("code" in answer) return healthy(`It answers JSON-RPC, and does not know rpc.discover (error ${answer.code}).`);
    const document = documentSchema.safeParse(answer.result).data;
    if (document === undefined || !discoverResultSchema.safeParse(answer.result).success) {
      return healthy("It answers JSON-RPC, although rpc.discover with something that is no OpenRPC document.");
    }
    const { title, version } = document.info;
    return {
      ...healthy(toPrintable(`${title} ${version}`)),
      methods: document.methods.slice(0, mostMethods).map(({ name }) => toPrintable(name)),
    };
  },
};

/** What an A2A agent is, its card has said; whether it takes calls shows a task that it cannot know. */
export function createUnknownTaskRequest({ agent, taskId }: { agent: PeerDescription; taskId: string }): HealthRequest {
  const { name, version, url } = agent;
  return {
    method: "get_task",
    params: { task_id: taskId },
    understood: ["task_not_found"],
    toCheckResult: () => healthy(`${toPrintable(name)}, A2A ${toPrintable(version)} at ${toPrintable(url)}`),
  };
}

const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string().default("untitled"), version: z.string().default("") }).default({
    title: "untitled",
    version: "",
  }),
  methods: z.array(z.looseObject({ name: z.string() })).default([]),
});

function healthy(words: string): CheckResult {
  return { health: "healthy", words };
}

/** It goes to a terminal, and others wrote it. */
export function toPrintable(text: string): string {
  return text
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "")
    .trim()
    .slice(0, 200);
}
