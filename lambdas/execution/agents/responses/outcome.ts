/** Decides what came of a response that is over: an answer with its files, a question, or a failure. */
import { maxResultBytes } from "@sekisho/contracts/limits.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { isJsonObject, lastOfEachId, parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { AgentTask, TaskUpdate } from "../agent.ts";
import type { ModelAnswer } from "../model-answer.ts";
import { RemoteError } from "../remote-error.ts";
import { addUsage, createApprovalQuestion, readApprovalState } from "./approvals.ts";
import {
  isId,
  isText,
  joinMessages,
  type OutputItem,
  type ResponseReader,
  toWord,
} from "./reader.ts";

/** Returns the updates, of which the last one ends the task. Throws a RemoteError for a response that has no answer. */
export function createOutcome(request: {
  reader: ResponseReader;
  task: AgentTask;
  /** False if the endpoint does not store the response, so that it cannot go on. */
  canGoOn: boolean;
  begin: () => ModelAnswer;
  reportArtifact: (artifact: Artifact) => TaskUpdate[];
}): TaskUpdate[] {
  const { reader, task, canGoOn, begin, reportArtifact } = request;
  const { status, reason } = reader.end() ?? { status: "failed", reason: undefined };
  if (status === "failed" || status === "cancelled")
    throw new RemoteError(`response.${status}${reason === undefined ? "" : `: ${reason}`}`, {
      lost: false,
    });
  const items = reader.items();
  const text = readAnswer(items) || reader.streamedText();
  const earlierUsage = readApprovalState(task.answers.at(-1)?.state)?.usage;
  const ownUsage = reader.usage();
  const usage = earlierUsage && ownUsage ? addUsage(earlierUsage, ownUsage) : ownUsage;
  const question = createApprovalQuestion({
    ...{ items, text, responseId: reader.id(), message: task.text, usage },
  });
  if (question !== undefined && !canGoOn)
    throw new RemoteError("mcp_approval_request: needs a stored response", { lost: false });
  if (question !== undefined) return [question];
  refuseOpenCalls(items);
  const artifacts = items.flatMap((item) => {
    const image = readImage(item);
    return image === undefined ? [] : reportArtifact(image);
  });
  if (text.trim() === "" && artifacts.length > 0)
    return [...artifacts, { type: "answer", text: "", ...(usage && { usage }) }];
  const answer = begin();
  answer.add(text);
  const stopReason = status === "completed" ? "stop" : toStopReason(reason);
  return [...artifacts, addSources(answer.end({ stopReason, usage }), items)];
}

/** A response is incomplete because of a filter, a limit of tokens, or any other limit. */
function toStopReason(reason = ""): string {
  if (reason === "content_filter") return reason;
  return /token|length|context/.test(reason) ? "max_output_tokens" : "max_iterations_exceeded";
}

function listMessages(items: readonly OutputItem[]): OutputItem[] {
  return items.filter(({ type }) => type === "message");
}

/** The final answer if the model tells it from what it said while it worked. */
function readAnswer(items: readonly OutputItem[]): string {
  const messages = listMessages(items);
  const finalMessages = messages.filter(({ phase }) => phase !== "commentary");
  return joinMessages(finalMessages.map(readText)) || joinMessages(messages.map(readText));
}

/** Marks of citations such as 【4:0†report.pdf】, which mean nothing to a person. */
const citationMark = /【\d{1,4}(?::\d{1,4})?†[^【】\n]{0,200}】/g;

function readText(message: OutputItem): string {
  const texts = listContents(message).map(
    ({ text, refusal }) => [text, refusal].find(isText) ?? "",
  );
  return texts.join("").replaceAll(citationMark, "");
}

function listContents({ content }: OutputItem): Record<string, unknown>[] {
  if (isText(content)) return [{ text: content }];
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

/** A call with an id is answered by an item with the same id. One that the endpoint answers itself has none, or is followed by a message. */
function refuseOpenCalls(items: readonly OutputItem[]): void {
  const answeredCalls = new Set(
    items.filter(({ type }) => /_output$/.test(String(type))).map(({ call_id: id }) => id),
  );
  const lastMessage = items.findLastIndex(({ type }) => type === "message");
  const openCall = items
    .slice(lastMessage + 1)
    .find(({ type, call_id: id }) => isText(id) && isCall(type) && !answeredCalls.has(id));
  if (openCall === undefined) return;
  const type = toWord(openCall.type) ?? "call";
  throw new RemoteError(`the response ends with a ${type} that nobody answers`, { lost: false });
}

function isCall(type: unknown): boolean {
  return isText(type) && type.endsWith("_call");
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

function readImage({ type, result, output_format: format }: OutputItem): Artifact | undefined {
  if (type !== "image_generation_call" || !isText(result)) return undefined;
  if (result.length % 4 !== 0 || !base64.test(result)) return undefined;
  const extension = isText(format) && /^[a-z]{3,4}$/.test(format) ? format : "png";
  return { name: `image.${extension}`, mimetype: `image/${extension}`, base64: result };
}

const maxSources = 10;
const maxUrlLength = 2048;

/** Pages that the answer cites without a link to them. An answer that the host refuses as too large needs none. */
function addSources(update: TaskUpdate, items: readonly OutputItem[]): TaskUpdate {
  if (update.type !== "answer" || update.text.length > maxResultBytes) return update;
  const urls = new Set(listAnnotations(items).flatMap((annotation) => readUrl(annotation) ?? []));
  const sources: string[] = [];
  for (const url of urls) {
    // The text is searched for each URL, so for as few as possible.
    if (sources.length === maxSources) break;
    if (!update.text.includes(url)) sources.push(`- ${url}`);
  }
  return sources.length === 0
    ? update
    : { ...update, text: `${update.text.trimEnd()}\n\n${sources.join("\n")}` };
}

function listAnnotations(items: readonly OutputItem[]): Record<string, unknown>[] {
  return listMessages(items)
    .flatMap(listContents)
    .flatMap(({ annotations }) => (Array.isArray(annotations) ? annotations : []))
    .filter(isJsonObject);
}

function readUrl({ type, url }: Record<string, unknown>): string | undefined {
  if (type !== "url_citation" || !isText(url) || url.length > maxUrlLength) return undefined;
  // A space would end the link.
  const isLink = /^https?:$/.test(parseUrl(url)?.protocol ?? "") && !/\s/.test(url);
  return isLink ? url : undefined;
}

const maxFiles = 10;

/** The files that the code interpreter made and that the answer names, with the paths to them in the API. */
export function listContainerFiles(
  items: readonly OutputItem[],
): { path: string[]; name: string | undefined }[] {
  const files = listAnnotations(items).flatMap(
    ({ type, container_id: container, file_id: id, filename: name }) =>
      type === "container_file_citation" && isId(container) && isId(id)
        ? [{ id, path: ["containers", container, "files", id, "content"], name: toName(name) }]
        : [],
  );
  return lastOfEachId(files).slice(0, maxFiles);
}

function toName(name: unknown): string | undefined {
  return isText(name) ? name : undefined;
}
