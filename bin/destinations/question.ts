/** What a destination is asked so as to learn whether it can be used. No task is run. Pure. */
import * as z from "zod";
import type { Reason } from "../../contracts/errors.ts";
import { discoverResultSchema } from "../../contracts/methods.ts";
import type { PeerDescription } from "../../lambdas/verification/transport/transport.ts";
import type { Verdict } from "./verdict.ts";

export type Question = {
  method: string;
  params: object;
  /** Errors that show health as well: the question was understood. */
  understood: readonly Reason[];
  /** Of a result, or of such an error. */
  verdict(answer: { result: unknown } | { code: number }): Verdict;
};

/** A peer need not know the method. */
export const discovery: Question = {
  method: "rpc.discover",
  params: {},
  understood: ["method_not_found", "unsupported_operation"],
  verdict(answer) {
    if ("code" in answer) return healthy(`It answers JSON-RPC, and does not know rpc.discover (error ${answer.code}).`);
    const document = documentSchema.safeParse(answer.result).data;
    if (document === undefined || !discoverResultSchema.safeParse(answer.result).success) {
      return healthy("It answers JSON-RPC, although rpc.discover with something that is no OpenRPC document.");
    }
    const { title, version } = document.info;
    return {
      ...healthy(printable(`${title} ${version}`)),
      methods: document.methods.map(({ name }) => printable(name)),
    };
  },
};

/** What an A2A agent is, its card has said; whether it takes calls shows a task that it cannot know. */
export function unknownTask({ agent, taskId }: { agent: PeerDescription; taskId: string }): Question {
  const { name, version, url } = agent;
  return {
    method: "get_task",
    params: { task_id: taskId },
    understood: ["task_not_found"],
    verdict: () => healthy(`${printable(name)}, A2A ${printable(version)} at ${printable(url)}`),
  };
}

const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string().default("untitled"), version: z.string().default("") }).default({
    title: "untitled",
    version: "",
  }),
  methods: z.array(z.looseObject({ name: z.string() })).default([]),
});

function healthy(words: string): Verdict {
  return { health: "healthy", words };
}

/** It goes to a terminal, and others wrote it. */
export function printable(text: string): string {
  return text
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, "")
    .trim()
    .slice(0, 200);
}
