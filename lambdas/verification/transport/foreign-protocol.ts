/** Recognizes the protocol of an endpoint that does not speak our contract, by a response to one of our requests. */
import { foreignIssues } from "@sekisho/contracts/error-data.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";

/** `a2a` is a transport, and the others are types of agents of the Execution host. */
export type ForeignProtocol = "ag-ui" | "a2a" | "openai-compatible" | "http";

/** `complaints` are the names of the members that it misses or refuses, in lower case. */
type Answer = { isRefusal: boolean; text: string; json: unknown; complaints: readonly string[] };

/** The first that fits counts. Most endpoints refuse a JSON-RPC request in their own words. */
const shapes: Record<
  ForeignProtocol,
  readonly [nameInLog: string, what: string, isLike: (answer: Answer) => boolean]
> = {
  "ag-ui": ["AgUi", "AG-UI", isAgUi],
  a2a: ["A2a", "A2A", ({ text }) => text.includes("a2a-protocol.org")],
  "openai-compatible": ["ChatCompletions", "a chat completions API", isChatCompletions],
  http: ["Plain", "a plain endpoint", isPlain],
};
const protocols = Object.keys(shapes) as ForeignProtocol[];

/** The texts hold nothing of the response. */
export function adviceFor(protocol: ForeignProtocol) {
  const [name, what] = shapes[protocol];
  const remedy =
    protocol === "a2a"
      ? 'Set "transport": "a2a" for it.'
      : `Put it behind the Execution host: "agents": { "NAME": { "type": "${protocol}", … } }, or run ${sekisho} agents add URL.`;
  return { name: `ResponseIs${name}`, what: `answers like ${what}`, remedy };
}

/** For a response that does not tell its protocol. */
export const unknownProtocolAdvice = `If an agent of another protocol is there, run ${sekisho} agents add URL.`;

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
  const answer = { isRefusal, text, json, complaints };
  return protocols.find((protocol) => shapes[protocol][2](answer));
}

const runIds = /\b(?:thread|run)_?id\b/i;

/** Its input names a thread and a run. A failure may also come inside the stream. The complaints are named apart from what they repeat. */
function isAgUi({ isRefusal, text, json, complaints }: Answer): boolean {
  if (json === undefined && /"type" ?: ?"RUN_(?:STARTED|ERROR)"/.test(text)) return true;
  return isRefusal && runIds.test(complaints.length > 0 ? complaints.join(" ") : text);
}

/** The error object of OpenAI, and that of vLLM, which has no member `error` around it. */
function isChatCompletions({ json }: Answer): boolean {
  if (!isJsonObject(json)) return false;
  const error = json.object === "error" ? json : json.error;
  return isJsonObject(error) && typeof error.message === "string" && "param" in error;
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
