/** A server of AG-UI 1.0 that is as strict as the specification, over a real socket. A test says what it streams. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";
import { keepConnections } from "../../doubles/web-server.ts";

/** Members of events by their names. `$run` and `$thread` in texts stand for the ids of the request. */
export type ServerEvent = { type: string; [name: string]: unknown };

const part = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  ...(["image", "audio", "video", "document"] as const).map((type) =>
    z.strictObject({
      type: z.literal(type),
      source: z.discriminatedUnion("type", [
        z.strictObject({ type: z.literal("url"), value: z.url(), mimeType: z.string().optional() }),
        z.strictObject({ type: z.literal("data"), value: z.base64(), mimeType: z.string() }),
      ]),
      metadata: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
]);
const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});
const message = z.discriminatedUnion("role", [
  z.strictObject({
    id: z.string().min(1),
    role: z.literal("user"),
    content: z.union([z.string(), z.array(part).min(1)]),
  }),
  z.strictObject({
    id: z.string().min(1),
    role: z.literal("assistant"),
    content: z.string().optional(),
    toolCalls: z.array(toolCall).min(1).optional(),
  }),
  z.strictObject({
    id: z.string().min(1),
    role: z.literal("tool"),
    toolCallId: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]),
  }),
]);
/** All but `resume` and `protocolVersion` are needed by servers before 1.0. */
const runInput = z.strictObject({
  threadId: z.string().min(1),
  runId: z.string().min(1),
  messages: z.array(message),
  state: z.json(),
  tools: z.array(z.never()),
  context: z.array(z.strictObject({ description: z.string(), value: z.string() })),
  forwardedProps: z.record(z.string(), z.unknown()),
  resume: z
    .array(
      z.discriminatedUnion("status", [
        z.strictObject({
          interruptId: z.string(),
          status: z.literal("resolved"),
          payload: z.unknown(),
        }),
        z.strictObject({ interruptId: z.string(), status: z.literal("cancelled") }),
      ]),
    )
    .min(1)
    .optional(),
  protocolVersion: z.literal("1.0").optional(),
});
export type RunInput = z.infer<typeof runInput>;

type Interrupt = { id: string; expiresAt?: string };
type Thread = {
  runIds: Set<string>;
  /** The JSON of each message by its id. */
  messages: Map<string, string>;
  interrupts: readonly Interrupt[];
};

export type AgUiServer = {
  url: string;
  inputs: RunInput[];
  headers: IncomingHttpHeaders[];
  /** What requests did that the specification forbids. */
  problems: string[];
  /** Resolves when a client closes a connection before the response is whole. */
  cutOff: Promise<void>;
  close(): Promise<void>;
};

/** `answer` returns the events of the stream, or writes the response itself and returns nothing. */
export async function startAgUiServer(
  answer: (
    input: RunInput,
    response: ServerResponse,
  ) => readonly ServerEvent[] | undefined | Promise<undefined>,
): Promise<AgUiServer> {
  const inputs: RunInput[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const problems: string[] = [];
  const threads = new Map<string, Thread>();
  const { promise: cutOff, resolve: noteCutOff } = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    response.on("close", () => {
      if (!response.writableEnded) noteCutOff();
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    headers.push(request.headers);
    if (request.headers.accept !== "text/event-stream") problems.push("accept");
    const { data: input, error } = runInput.safeParse(JSON.parse(Buffer.concat(chunks).toString()));
    if (input === undefined) {
      problems.push(...error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`));
      response.writeHead(422).end("hunter2");
      return;
    }
    inputs.push(input);
    problems.push(...checkThread(threads, input));
    const events = await answer(input, response);
    if (events === undefined) return;
    const thread = threads.get(input.threadId);
    if (thread !== undefined) thread.interrupts = listInterrupts(events);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(encodeEvents(events, input));
  });
  keepConnections(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ inputs, headers, problems, cutOff },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A message keeps its id and its content, a run has an id of its own, and a resume answers each interrupt. */
function checkThread(threads: Map<string, Thread>, input: RunInput): string[] {
  const { threadId, runId, messages, resume } = input;
  const thread = threads.get(threadId) ?? {
    runIds: new Set(),
    messages: new Map(),
    interrupts: [],
  };
  threads.set(threadId, thread);
  const problems: string[] = [];
  if (thread.runIds.has(runId)) problems.push("runId: used before");
  thread.runIds.add(runId);
  if (new Set(messages.map(({ id }) => id)).size !== messages.length)
    problems.push("messages: two have one id");
  for (const each of messages) {
    const json = JSON.stringify(each);
    if ((thread.messages.get(each.id) ?? json) !== json) problems.push("messages: changed");
    thread.messages.set(each.id, json);
  }
  const openIds = thread.interrupts.map(({ id }) => id).sort();
  const answeredIds = (resume ?? []).map(({ interruptId }) => interruptId).sort();
  if (openIds.length > 0 && openIds.join() !== answeredIds.join())
    problems.push("resume: does not cover the interrupts");
  for (const { interruptId, status } of resume ?? []) {
    const { expiresAt = "9999-01-01" } =
      thread.interrupts.find(({ id }) => id === interruptId) ?? {};
    if (status === "resolved" && Date.parse(expiresAt) <= Date.now())
      problems.push("resume: an expired interrupt is resolved");
  }
  return problems;
}

function listInterrupts(events: readonly ServerEvent[]): Interrupt[] {
  return events.flatMap(({ outcome }) => {
    const { interrupts = [] } = Object(outcome) as { interrupts?: Interrupt[] };
    return interrupts;
  });
}

export function encodeEvents(
  events: readonly ServerEvent[],
  input: Pick<RunInput, "runId" | "threadId">,
): string {
  return events
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join("")
    .replaceAll("$run", input.runId)
    .replaceAll("$thread", input.threadId);
}

const ids = { threadId: "$thread", runId: "$run" };

/** The events between the beginning and the end of the requested run. */
export function runOf(events: readonly ServerEvent[], end: object = {}): ServerEvent[] {
  return [{ type: "RUN_STARTED", ...ids }, ...events, { type: "RUN_FINISHED", ...ids, ...end }];
}

/** A text in as many pieces as there are deltas. */
export function textOf(
  messageId: string,
  deltas: readonly string[],
  owner: object = {},
): ServerEvent[] {
  return [
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant", ...owner },
    ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta, ...owner })),
    { type: "TEXT_MESSAGE_END", messageId, ...owner },
  ];
}

/** A call without its result. */
export function callOf(toolCallId: string, toolCallName: string, args = "{}"): ServerEvent[] {
  return [
    { type: "TOOL_CALL_START", toolCallId, toolCallName },
    { type: "TOOL_CALL_ARGS", toolCallId, delta: args },
    { type: "TOOL_CALL_END", toolCallId },
  ];
}
