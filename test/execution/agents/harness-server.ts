/** A harness of AgentCore behind its data plane, by AWS's models and developer guide. It refuses what AWS refuses. */

import * as z from "zod";
import { awsError } from "../../doubles/agentcore-stub.ts";
import { serve } from "../../doubles/serving.ts";
import { type KnownCredentials, sigv4Problem } from "../../doubles/sigv4-check.ts";
import type { Received } from "../../doubles/web-server.ts";
import { readBody } from "./http-servers.ts";

export const harnessArn =
  "arn:aws:bedrock-agentcore:eu-central-1:111111111111:harness/research-AbCdEf1234";
const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";
const eventStream = "application/vnd.amazon.eventstream";

/** Bedrock refuses a blank text. */
const text = z.strictObject({ text: z.string().regex(/\S/) });
const toolUse = z.strictObject({
  toolUse: z.strictObject({ toolUseId: z.string(), name: z.string(), input: z.json() }),
});
const toolResult = z.strictObject({
  toolResult: z.strictObject({
    toolUseId: z.string(),
    content: z.array(text).min(1),
    status: z.enum(["success", "error"]),
  }),
});
const messageSchema = z.strictObject({
  role: z.enum(["user", "assistant"]),
  content: z.array(z.union([text, toolUse, toolResult])).min(1),
});
/** The pattern of an actor is that of AgentCore Memory (CreateEvent). */
const bodySchema = z.strictObject({
  messages: z.array(messageSchema).min(1),
  actorId: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9-_/]*(?::[a-zA-Z0-9-_/]+)*[a-zA-Z0-9-_/]*$/)
    .max(255)
    .optional(),
});
export type HarnessCall = z.infer<typeof bodySchema> & { session: string; query: string };

/** Returns the frames of the response, or a response of another kind. */
type Answer = (call: HarnessCall, index: number) => readonly Uint8Array[] | Response;

type Access = { credentials?: KnownCredentials | undefined; token?: string | undefined };

/** A harness takes signatures or tokens. */
export async function startHarness(answer: Answer, { credentials, token }: Access) {
  const calls: HarnessCall[] = [];
  const problems: unknown[] = [];

  function refuse(status: number, name: string, problem: unknown): Response {
    problems.push(problem);
    return awsError(status, name, { message: "hunter2" });
  }

  const { url } = await serve((received) => {
    const denial = findDenial(received, { credentials, token });
    if (denial !== undefined) return refuse(403, "AccessDeniedException", denial);
    const { request, target } = received;
    const [path, query = ""] = target.split("?");
    if (request.method !== "POST" || path !== "/harnesses/invoke")
      return refuse(404, "UnknownOperationException", path);
    if (new URLSearchParams(query).get("harnessArn") !== harnessArn)
      return refuse(404, "ResourceNotFoundException", query);
    const session = request.headers.get(sessionHeader) ?? "";
    if (!/^[a-zA-Z0-9][a-zA-Z0-9-_]{32,99}$/.test(session))
      return refuse(400, "ValidationException", "session");
    if (request.headers.get("content-type") !== "application/json")
      return refuse(400, "ValidationException", "content-type");
    const body = bodySchema.safeParse(readBody(received));
    if (!body.success) return refuse(400, "ValidationException", body.error.issues);
    const problem = findMessageProblem(body.data.messages);
    if (problem !== undefined) return refuse(400, "ValidationException", problem);
    const call = { ...body.data, session, query };
    const frames = answer(call, calls.push(call) - 1);
    return frames instanceof Response ? frames : streamOf(frames);
  });
  return { endpoint: url, calls, problems };
}

export function streamOf(frames: readonly Uint8Array[]): Response {
  return new Response(Buffer.concat(frames), { headers: { "content-type": eventStream } });
}

function findDenial(received: Received, { credentials, token }: Access): string | undefined {
  if (credentials !== undefined)
    return sigv4Problem({
      ...{ received, credentials, service: "bedrock-agentcore", region: "eu-central-1" },
    });
  return received.request.headers.get("authorization") === `Bearer ${token}` ? undefined : "token";
}

/** Roles take turns, a person begins or a call goes on, and each call of a function has exactly one result in the next message. */
function findMessageProblem(messages: z.infer<typeof messageSchema>[]): string | undefined {
  const ids = (at: number, kind: "toolUse" | "toolResult") =>
    (messages[at]?.content ?? []).flatMap((block) => {
      const { toolUseId } = Object(Object(block)[kind]) as { toolUseId?: string };
      return toolUseId === undefined ? [] : [toolUseId];
    });
  if (messages.at(-1)?.role !== "user") return "the last message is not a person's";
  if (messages[0]?.role !== "user" && ids(0, "toolUse").length === 0) return "begins with a reply";
  for (const [at, { role }] of messages.entries()) {
    if (role === messages[at - 1]?.role) return "two messages of one role";
    const uses = ids(at - 1, "toolUse");
    if (uses.join() !== ids(at, "toolResult").join()) return "results do not match the calls";
    if (new Set(uses).size < uses.length) return "duplicate ids";
  }
  return undefined;
}
