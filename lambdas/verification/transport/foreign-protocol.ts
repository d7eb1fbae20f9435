/** Recognizes the protocol of an endpoint that does not speak our contract, by a response to one of our requests. */
import { foreignIssues } from "@sekisho/contracts/error-data.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";

export type ForeignProtocol = "ag-ui" | "a2a" | "chat-completions" | "plain";

/** `complaints` are the names of the members that it misses or refuses, in lower case. */
type Answer = { isRefusal: boolean; text: string; json: unknown; complaints: readonly string[] };

/** The first that fits counts. Most endpoints refuse a JSON-RPC request in their own words. */
const shapes: readonly [ForeignProtocol, (answer: Answer) => boolean][] = [
  ["ag-ui", isAgUi],
  ["a2a", ({ text, json }) => text.includes("a2a-protocol.org") || isAgentCard(json)],
  ["chat-completions", isChatCompletions],
  ["plain", isPlain],
];

/** `name` is shown in the log. The texts hold nothing of the response. */
const advices: Record<ForeignProtocol, { name: string; what: string; remedy: string }> = {
  "ag-ui": {
    name: "ResponseIsAgUi",
    what: "answers like an agent that speaks AG-UI",
    remedy: adviseHost('{ "type": "ag-ui", "url": "…" }'),
  },
  a2a: {
    name: "ResponseIsA2a",
    what: "answers like an A2A agent",
    remedy: 'Set "transport": "a2a" for it.',
  },
  "chat-completions": {
    name: "ResponseIsChatCompletions",
    what: "answers like a model with the chat completions API",
    remedy: adviseHost('{ "type": "openai-compatible", "baseUrl": "…/v1", "model": "…" }'),
  },
  plain: {
    name: "ResponseIsPlain",
    what: 'answers like a plain endpoint, such as one that takes {"prompt": "…"}',
    remedy: adviseHost('{ "type": "http", "url": "…" }'),
  },
};

export function adviceFor(protocol: ForeignProtocol) {
  return advices[protocol];
}

export function adviseHost(entry: string): string {
  return `Put it behind the Execution host: "execution": { "agents": { "NAME": ${entry} } }, or run ${sekisho} agents add URL.`;
}

/** Undefined if it may be anything. `body` must not be a JSON-RPC response. */
export function recognizeResponse(response: {
  status?: number | undefined;
  body: Uint8Array | string;
}): ForeignProtocol | undefined {
  const { status = 200, body } = response;
  const text = typeof body === "string" ? body : Buffer.from(body).toString();
  const json = parseJson(text);
  const isRefusal = status >= 400;
  const issues = isRefusal ? (foreignIssues(json) ?? []) : [];
  const complaints = issues.map(({ path }) => path.toLowerCase());
  return shapes.find(([, isLike]) => isLike({ isRefusal, text, json, complaints }))?.[0];
}

const runIds = /\b(?:thread|run)_?id\b/i;

/** Its input names a thread and a run. A failure may also come inside the stream. The complaints are named apart from what they repeat. */
function isAgUi({ isRefusal, text, json, complaints }: Answer): boolean {
  if (json === undefined && /"type" ?: ?"RUN_(?:STARTED|ERROR)"/.test(text)) return true;
  return isRefusal && runIds.test(complaints.length > 0 ? complaints.join(" ") : text);
}

/** True for the card of an agent (A2A 1.0, section 4.4.1, and 0.3). */
export function isAgentCard(json: unknown): boolean {
  return (
    isJsonObject(json) &&
    "name" in json &&
    "skills" in json &&
    ("supportedInterfaces" in json || "url" in json)
  );
}

/** The error object of OpenAI, and that of vLLM, which has no member `error` around it. */
function isChatCompletions({ json, complaints }: Answer): boolean {
  if (!isJsonObject(json)) return false;
  const error = json.object === "error" ? json : json.error;
  const isError =
    isJsonObject(error) &&
    typeof error.message === "string" &&
    ("param" in error || error.type === "invalid_request_error") &&
    json.type !== "error";
  const names = complaints.map((path) => path.split(".").at(-1));
  return isError || (names.includes("messages") && names.includes("model"));
}

const promptNames = /\b(?:prompt|message|input|query|question)$/;
const answerNames = ["result", "response", "output", "answer"];

/** A result without an envelope, or a refusal for want of a prompt, as AgentCore's SDKs write them. */
function isPlain({ isRefusal, json, complaints }: Answer): boolean {
  if (complaints.some((path) => promptNames.test(path))) return true;
  if (typeof json === "string") return !isRefusal;
  if (!isJsonObject(json) || "jsonrpc" in json || "id" in json) return false;
  if (typeof json.error === "string" && /^Invalid JSON$|\bprompt\b/i.test(json.error)) return true;
  return !isRefusal && answerNames.some((name) => Object.hasOwn(json, name));
}
