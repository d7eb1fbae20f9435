/**
 * The JSON of A2A 0.3 over HTTP, which is that of its Protocol Buffers (specification/grpc/a2a.proto) and not that of its JSON-RPC: a message has
 * its parts in `content`, the names of enums are those of 1.0, and files and data are nested otherwise.
 */
import type { OperationParams } from "../operations.ts";
import type { Message, Part } from "../part.ts";
import { partToV03 } from "./message.ts";
import { paramsToV03 } from "./params.ts";

/** Writes the body of `POST /v1/message:send`. Servers may refuse members that the Protocol Buffers lack. */
export function sendParamsToProto(params: OperationParams<"SendMessage">): unknown {
  const { configuration, metadata } = paramsToV03({ operation: "SendMessage", params }) ?? {};
  const { pushNotificationConfig, ...settings } = Object(configuration);
  return {
    message: messageToProto(params.message),
    configuration: { ...settings, pushNotification: pushNotificationConfig },
    metadata,
  };
}

function messageToProto({ parts, referenceTaskIds: _, ...message }: Message) {
  return { ...message, content: parts.map(partToProto) };
}

function partToProto(part: Part) {
  const v03Part = partToV03(part);
  const { metadata } = v03Part;
  switch (v03Part.kind) {
    case "text":
      return { text: v03Part.text, metadata };
    case "data":
      return { data: { data: v03Part.data }, metadata };
    case "file": {
      const { bytes: fileWithBytes, uri: fileWithUri, mimeType, name } = v03Part.file;
      return { file: { fileWithBytes, fileWithUri, mimeType, name }, metadata };
    }
  }
}

const holders: readonly string[] = ["task", "message", "status", "artifacts", "history"];
/** The parts of a message in the status of a task in an answer. */
const maxDepth = 4;

/** Writes the data parts of a result as those of JSON-RPC. Readers know everything else that is different. */
export function resultFromProto(result: unknown, depth = maxDepth): unknown {
  if (depth < 0 || typeof result !== "object" || result === null) return result;
  if (Array.isArray(result)) return result.map((entry) => resultFromProto(entry, depth - 1));
  const members = Object.entries(result).map(([name, member]) => {
    const isParts = (name === "parts" || name === "content") && Array.isArray(member);
    if (isParts) return [name, member.map(partFromProto)];
    return [name, holders.includes(name) ? resultFromProto(member, depth - 1) : member];
  });
  return Object.fromEntries(members);
}

/** A part that names its `kind` is one of JSON-RPC already, as some servers answer. */
function partFromProto(part: unknown): unknown {
  const { kind, data } = Object(part);
  const isNested = kind === undefined && Object.hasOwn(Object(data), "data");
  return isNested ? { ...Object(part), kind: "data", data: data.data } : part;
}
