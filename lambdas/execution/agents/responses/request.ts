/** Builds the body of a request for a response: who answers, and the conversation. */
import type { Part } from "@sekisho/contracts/a2a/part.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { AgentContext, AgentTask } from "../agent.ts";
import { listEarlierMessages, readUserText } from "../chat-messages.ts";
import { listUnseenMessages } from "../unseen-messages.ts";

/** A message, or the decision about a call of a tool. */
export type InputItem = Readonly<Record<string, unknown>>;

/** The keys of the configuration that decide about requests. */
export type ResponsesOptions = {
  model?: string | undefined;
  agent?: { name: string; version?: string | undefined } | undefined;
  system?: string | undefined;
  store?: boolean | undefined;
  background: boolean;
};

export function createBody(request: {
  options: ResponsesOptions;
  input: readonly InputItem[];
  previousId: string | undefined;
}): Record<string, unknown> {
  const { options, input, previousId } = request;
  const { model, agent, system, background, store = background || undefined } = options;
  return {
    ...(model !== undefined && { model }),
    // Foundry has refused the older name of the member, "agent", since the spring of 2026.
    ...(agent !== undefined && { agent_reference: { type: "agent_reference", ...agent } }),
    ...(system !== undefined && { instructions: system }),
    ...(previousId !== undefined && { previous_response_id: previousId }),
    input,
    stream: true,
    ...(background && { background }),
    ...(store !== undefined && { store }),
  };
}

/** The messages of the thread. With `isContinued`, those that the endpoint lacks: it has the others. */
export function listThread(
  task: AgentTask,
  { isContinued, seenTs }: { isContinued: boolean; seenTs?: unknown },
): InputItem[] {
  return listEarlierMessages({
    history: isContinued ? listUnseen(task, seenTs) : task.history,
  }).map((message) => ({ type: "message", ...message }));
}

function listUnseen(task: AgentTask, seenTs: unknown): AgentTask["history"] {
  if (typeof seenTs === "string") return listUnseenMessages(task, seenTs);
  const { history = [] } = task;
  return history.slice(history.findLastIndex(({ role }) => role === "assistant") + 1);
}

/** The message of the task. `namesFiles` leaves out its files, and names them instead. */
export function createUserMessage(request: {
  task: AgentTask;
  files: readonly InputFile[];
  namesFiles: boolean;
}): InputItem {
  const { task, files, namesFiles } = request;
  const contents = namesFiles ? [] : files.flatMap(({ content }) => content ?? []);
  const namedFiles = files.filter(({ content }) => namesFiles || content === undefined);
  const names = namedFiles.map(({ name }) => `(A file that you cannot read: ${name})`);
  const text = [readUserText(task), ...names].filter((each) => each !== "").join("\n");
  const textParts = text === "" ? [] : [{ type: "input_text", text }];
  const content = contents.length === 0 ? text : [...textParts, ...contents];
  return { type: "message", role: "user", content };
}

/** `content` is undefined if the model cannot read the file. */
export type InputFile = { name: string; content: InputItem | undefined };

const imageTypes = /^image\/(?:png|jpeg|gif|webp)$/;
/** The documents that the API reads (https://platform.openai.com/docs/guides/pdf-files), text and code among them. */
const documentTypes =
  /^(?:text\/.+|application\/(?:pdf|json|xml|rtf|msword|vnd\.ms-.+|vnd\.openxmlformats-.+|javascript|x-yaml))$/;
/** A request holds the bytes of files in base64, and this many of all of them. */
const maxDataLength = 12 * 1024 * 1024;

export async function readFiles(
  { parts }: AgentTask,
  context: Pick<AgentContext, "readAttachment">,
): Promise<InputFile[]> {
  const files: InputFile[] = [];
  let dataLength = 0;
  for (const part of parts.filter(({ url, raw }) => url !== undefined || raw !== undefined)) {
    const file = await readFile(part, context);
    dataLength += JSON.stringify(file).length;
    files.push(dataLength > maxDataLength ? { ...file, content: undefined } : file);
  }
  return files;
}

async function readFile(
  part: Part,
  context: Pick<AgentContext, "readAttachment">,
): Promise<InputFile> {
  const { mediaType = "", filename = "file" } = part;
  const [type = ""] = mediaType.toLowerCase().split(";");
  const file = { name: `${filename} ${mediaType}`.trim(), content: undefined };
  const isImage = imageTypes.test(type);
  if (!isImage && !documentTypes.test(type)) return file;
  const address = await readAddress(part, { type, context });
  if (address === undefined) return file;
  if (isImage)
    return { ...file, content: { type: "input_image", detail: "auto", image_url: address } };
  const content = address.startsWith("data:")
    ? { filename, file_data: address }
    : { file_url: address };
  return { ...file, content: { type: "input_file", ...content } };
}

/** The endpoint reads an https address itself. It gets the bytes of others, which only this process may reach. Undefined if nobody can. */
async function readAddress(
  { url, raw }: Part,
  { type, context }: { type: string; context: Pick<AgentContext, "readAttachment"> },
): Promise<string | undefined> {
  if (raw !== undefined) return `data:${type};base64,${raw}`;
  if (url === undefined || parseUrl(url)?.protocol === "https:") return url;
  const bytes = await context
    .readAttachment({ attachment: { url }, maxBytes: maxDataLength / 2 })
    .catch(() => undefined);
  return bytes && `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
}
