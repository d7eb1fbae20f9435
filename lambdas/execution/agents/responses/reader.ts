/** Follows one response of the Responses API, from the events of a stream or from the response as a whole. */
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { RemoteError } from "../remote-error.ts";
import type { ServerSentEvent } from "../server-sent-events.ts";

/** An entry of the list `output`: a message, a call of a tool, a request for an approval and others. */
export type OutputItem = Readonly<Record<string, unknown>>;

export type ResponseEnd = {
  status: string;
  /** Why the response is incomplete, or failed. A word, and never a text of the endpoint. */
  reason: string | undefined;
};

/** The part of an event that is reported. */
type News = { text?: string; toolName?: string };

export type ResponseReader = {
  id(): string | undefined;
  /** Undefined as long as the endpoint works. */
  end(): ResponseEnd | undefined;
  usage(): Record<string, unknown> | undefined;
  /** The items of the response, and of the stream if the response has none. */
  items(): readonly OutputItem[];
  /** The text as it was streamed. */
  streamedText(): string;
  /** Throws a RemoteError for an event that reports a failure, and for one that cannot be read. */
  addEvent(event: ServerSentEvent): News;
  /** Takes the JSON of a response that was not streamed. Throws likewise. */
  addResponse(json: string): void;
};

const endStatuses: readonly unknown[] = ["completed", "incomplete", "failed", "cancelled"];
const textEvent = /^response\.(?:output_text|refusal)\.(delta|done)$/;
const calls = /^(.+)_call$/;
/** Ids have some 50 characters, those of gateways a few hundred. */
const maxIdLength = 1024;

export function createResponseReader(): ResponseReader {
  let id: string | undefined;
  let end: ResponseEnd | undefined;
  let usage: Record<string, unknown> | undefined;
  let output: readonly OutputItem[] = [];
  const streamedItems = new Map<unknown, OutputItem>();
  /** The texts of each message by its parts. */
  const texts = new Map<unknown, Map<unknown, string>>();
  let latestMessage: unknown;

  /** `endStatus` is how the response ended as far as the event says. The response itself may say it better. */
  function readResponse(response: Record<string, unknown>, endStatus: unknown): void {
    if (isId(response.id)) id ??= response.id;
    if (!endStatuses.includes(endStatus)) return;
    const status = String(endStatuses.includes(response.status) ? response.status : endStatus);
    const { reason } = Object(response.incomplete_details) as { reason?: unknown };
    const { code } = Object(response.error) as { code?: unknown };
    end = { status, reason: toWord(status === "failed" ? code : reason) };
    if (isJsonObject(response.usage)) usage = response.usage;
    if (Array.isArray(response.output)) output = response.output.filter(isJsonObject);
  }

  function readText(event: Record<string, unknown>, kind: "delta" | "done"): News {
    const { type, delta, output_index: index, item_id: itemId, content_index: part = 0 } = event;
    const message = index ?? itemId;
    const parts = texts.get(message) ?? new Map<unknown, string>();
    texts.set(message, parts);
    if (kind === "done") {
      const wholeText = event.text ?? event.refusal;
      if (isText(wholeText)) parts.set(part, wholeText);
      return {};
    }
    // An answer that lacks a piece of its text would mislead.
    if (!isText(delta)) throw createBroken(`${String(type)}: delta`);
    const isNext = texts.size > 1 && latestMessage !== message;
    latestMessage = message;
    parts.set(part, (parts.get(part) ?? "") + delta);
    return { text: isNext ? `\n\n${delta}` : delta };
  }

  return {
    id: () => id,
    end: () => end,
    usage: () => usage,
    items: () => (output.length > 0 ? output : [...streamedItems.values()]),
    streamedText: () =>
      joinMessages([...texts.values()].map((parts) => [...parts.values()].join(""))),
    addEvent({ event: eventName, data }) {
      if (data.trim() === "[DONE]") return {};
      const event = parseJson(data);
      if (!isJsonObject(event)) throw createBroken("an event is no JSON object");
      const type = isText(event.type) ? event.type : eventName;
      if (type === "error" || isFailure(event.error))
        throw new RemoteError("an event error reports a failure", { lost: false });
      if (isJsonObject(event.response)) readResponse(event.response, type.replace("response.", ""));
      const [, textKind] = textEvent.exec(type) ?? [];
      if (textKind === "delta" || textKind === "done") return readText(event, textKind);
      const isNew = type === "response.output_item.added";
      if (!isJsonObject(event.item) || !(isNew || type === "response.output_item.done")) return {};
      streamedItems.set(event.output_index ?? event.item.id, event.item);
      return isNew ? { toolName: readToolName(event.item) ?? "" } : {};
    },
    addResponse(json) {
      const response = parseJson(json);
      if (!isJsonObject(response)) throw createBroken("the response is no JSON object");
      const { status, output: items, error } = response;
      if (status == null && isFailure(error))
        throw new RemoteError('the member "error" reports a failure', { lost: false });
      const endStatus = status ?? (Array.isArray(items) ? "completed" : undefined);
      readResponse(response, endStatus);
      // Something else than the API answers, and might do so for as long as it is read.
      if (endStatus === undefined) throw createBroken("the response has no status");
    },
  };
}

/** The name of a function or of a tool elsewhere. A tool of the endpoint has a type instead, such as `web_search_call`. */
function readToolName({ type, name }: OutputItem): string | undefined {
  const [, tool] = calls.exec(isText(type) ? type : "") ?? [];
  return tool !== undefined && isText(name) ? name : tool;
}

/** With a blank line between them. */
export function joinMessages(messages: readonly string[]): string {
  return messages.filter((text) => text.trim() !== "").join("\n\n");
}

/** Some endpoints have an empty member in every event, as long as there is no error. */
function isFailure(error: unknown): boolean {
  return isJsonObject(error) ? Object.keys(error).length > 0 : Boolean(error);
}

/** An endpoint may write anything there, so that only a word is logged. */
export function toWord(value: unknown): string | undefined {
  return isText(value) && /^[a-z_]{1,40}$/i.test(value) ? value : undefined;
}

/** The endpoint works on the response, or has done so, and nobody knows the result. `problem` holds names of the API only. */
export function createBroken(problem: string): RemoteError {
  return new RemoteError(problem, { lost: true });
}

/** A dot or two would be a step of the path that an id is part of. */
export function isId(value: unknown): value is string {
  return isText(value) && value.length <= maxIdLength && !/^\.{0,2}$/.test(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}
