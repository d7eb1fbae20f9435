/**
 * An agent of kagent that asks once in the structure of its extension, and is as strict about the reply as kagent's two runtimes together
 * (go/adk/pkg/a2a/hitl.go and python/packages/kagent-core/src/kagent/core/a2a/_hitl.py, August 2026).
 */
import { type A2aVersion, operations, toA2aOperation } from "@sekisho/contracts/a2a/operations.ts";
import type { Message } from "@sekisho/contracts/a2a/part.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { v03Operations } from "@sekisho/contracts/a2a/v03/params.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import { cardOf } from "./a2a-peer.ts";
import { type Agent, type AgentCall, startAgent } from "./a2a-peer-agent.ts";
import { json } from "./answers.ts";

export const hitlUri = "https://kagent.dev/extensions/hitl/v1";

type Tool = { id: string; call_id: string; name: string; args: object };
type Nested = { subagent_name: string; task_id: string; context_id: string; tools: Tool[] };
export type HitlRequest =
  | { type: "tool_approval_request"; hint?: string; tools: Tool[]; nested?: Nested }
  | {
      type: "ask_user_request";
      id: string;
      questions: { question: string; choices?: string[] | null; multiple?: boolean }[];
      nested?: Nested;
    };

export const tool = (name: string, id = `adk-${name}`): Tool => ({
  ...{ id, call_id: `call-${name}`, name },
  args: { path: `/${name}` },
});

/** `replies` has the payloads that were accepted. `pause` asks something else, under the same task. */
export type KagentAgent = Agent & { replies: unknown[]; pause(request: HitlRequest): void };

const hint = "Human input is required before the agent can continue.";

export async function startKagentAgent(options: {
  request: HitlRequest;
  version?: A2aVersion;
  isDeclared?: boolean;
}): Promise<KagentAgent> {
  const { version = "1.0", isDeclared = true } = options;
  const replies: unknown[] = [];
  let pauses = 0;
  let state: A2aTask["status"]["state"] = "TASK_STATE_INPUT_REQUIRED";
  let message: Message | undefined;
  let request = options.request;

  function pause(nextRequest: HitlRequest, isActive = true): void {
    request = nextRequest;
    state = "TASK_STATE_INPUT_REQUIRED";
    pauses += 1;
    message = {
      ...{ messageId: `pause-${pauses}`, role: "ROLE_AGENT", parts: [{ text: hint }] },
      ...(isActive && { extensions: [hitlUri], metadata: { [hitlUri]: nextRequest } }),
    };
  }

  function resume(reply: Message): string | undefined {
    if (reply.taskId !== "task-1") return "unknown task";
    if (reply.contextId !== "context-1") return "another context";
    if (state !== "TASK_STATE_INPUT_REQUIRED") return "task is not waiting for input";
    if (!reply.extensions?.includes(hitlUri)) return "the message does not declare the extension";
    const payload = reply.metadata?.[hitlUri];
    const problem = findProblem(request, payload);
    if (problem !== undefined) return problem;
    replies.push(payload);
    state = "TASK_STATE_WORKING";
    message = undefined;
    return undefined;
  }

  function send({ headers, params }: AgentCall): string | undefined {
    const schemas = version === "1.0" ? operations : v03Operations;
    const { message: sentMessage } = schemas.SendMessage.parse(params);
    const requested = (headers.get("a2a-extensions") ?? "").split(",").map((uri) => uri.trim());
    const isActive = requested.includes(hitlUri);
    if (sentMessage.taskId !== undefined)
      return isActive ? resume(sentMessage) : "the extension is not active";
    pause(request, isActive);
    return undefined;
  }

  const agent = await startAgent({
    version,
    card: (_, base) => {
      const extensions = [{ uri: hitlUri, description: "Human in the loop", required: false }];
      const card = cardOf({ url: `${base}/a2a`, version });
      return json({ ...card, capabilities: isDeclared ? { extensions } : {} });
    },
    answer(call) {
      const operation = toA2aOperation(call.method)?.operation;
      const problem = operation === "SendMessage" ? send(call) : undefined;
      if (problem !== undefined) return { error: { code: -32602, message: problem } };
      const status = { state, ...(message && { message }) };
      const task = { id: "task-1", contextId: "context-1", status } as A2aTask;
      if (version === "0.3") return { result: resultToV03({ operation: "GetTask", result: task }) };
      return { result: operation === "SendMessage" ? { task } : task };
    },
  });
  return { ...agent, replies, pause };
}

/** Undefined for a reply that answers the request, whole and exactly. */
function findProblem(request: HitlRequest, payload: unknown): string | undefined {
  const { type, approvals, id, answers, ...others } = Object(payload);
  if (Object.keys(others).length > 0) return "extra members";
  if (request.type === "tool_approval_request") {
    const { tools } = request.nested ?? request;
    if (type !== "tool_approval_response" || !Array.isArray(approvals)) return "no approvals";
    const ids = approvals.map((approval) => approval.id);
    if (new Set(ids).size !== ids.length) return "an id twice";
    if (!tools.every((one) => ids.includes(one.id))) return "an id is missing";
    if (ids.length !== tools.length) return "an unknown id";
    return approvals.every(isApproval) ? undefined : "no decision";
  }
  if (type !== "ask_user_response") return "no answers";
  if (id !== (request.nested?.tools[0]?.id ?? request.id)) return "an invalid correlation";
  if (!Array.isArray(answers) || answers.length !== request.questions.length)
    return "not every question is answered";
  return answers.every(isTextAnswer) ? undefined : "an answer that is no list of texts";
}

function isApproval(approval: Record<string, unknown>): boolean {
  const { id: _, approved, rejection_reason: reason, ...others } = approval;
  const isReasonable = reason === undefined || (typeof reason === "string" && approved === false);
  return typeof approved === "boolean" && isReasonable && Object.keys(others).length === 0;
}

function isTextAnswer(entry: Record<string, unknown>): boolean {
  const { answer, ...others } = entry;
  const isList = Array.isArray(answer) && answer.every((text) => typeof text === "string");
  return isList && Object.keys(others).length === 0;
}
