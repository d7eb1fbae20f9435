/** An endpoint of the Responses API, as strict as its reference, over a real socket. A test says what each response has. */
import * as z from "zod";
import { closeAfterTest } from "../../doubles/serving.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";

export type OutputItem = { type: string; [name: string]: unknown };
export type ServerEvent = { type: string; [name: string]: unknown };

const approval = z.strictObject({
  type: z.literal("mcp_approval_response"),
  approval_request_id: z.string().min(1),
  approve: z.boolean(),
  reason: z.string().min(1).optional(),
});
const address = z.string().regex(/^(https:\/\/|data:[a-z/+.-]+;base64,[A-Za-z0-9+/=]*$)/);
const part = z.union([
  z.strictObject({ type: z.literal("input_text"), text: z.string().min(1) }),
  z.strictObject({ type: z.literal("input_image"), detail: z.literal("auto"), image_url: address }),
  z.strictObject({ type: z.literal("input_file"), file_url: z.url() }),
  z.strictObject({
    type: z.literal("input_file"),
    filename: z.string().min(1),
    file_data: address,
  }),
]);
const message = z.strictObject({
  type: z.literal("message"),
  role: z.enum(["user", "assistant"]),
  content: z.union([z.string(), z.array(part).min(1)]),
});
const agentReference = z.strictObject({
  type: z.literal("agent_reference"),
  name: z.string(),
  version: z.string().optional(),
});
const createRequest = z.strictObject({
  model: z.string().optional(),
  agent_reference: agentReference.optional(),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  input: z.array(z.union([message, approval])).min(1),
  stream: z.literal(true),
  background: z.literal(true).optional(),
  store: z.boolean().optional(),
});
export type CreateRequest = z.infer<typeof createRequest>;

type Stored = { id: string; status: string; output: readonly OutputItem[]; wasCanceled?: boolean };

/** The answer of the endpoint to a request: the items of a response, or a response of HTTP instead. */
export type Plan =
  | { output: readonly OutputItem[]; end?: object; events?: readonly ServerEvent[] }
  | Response;

export type ResponsesServer = {
  baseUrl: string;
  requests: CreateRequest[];
  received: Received[];
  /** Requests that the reference forbids, in words. */
  problems: string[];
  stored: Map<string, Stored>;
};

/** `status` is what a read of a background response finds, such as in_progress at first. */
export async function startResponsesServer(options: {
  plan: (request: CreateRequest, count: number) => Plan | Promise<Plan>;
  read?: (stored: Stored, count: number) => object | Response;
  /** The files of the code interpreter by their paths. */
  files?: Readonly<Record<string, string | ReadableStream>>;
}): Promise<ResponsesServer> {
  const { plan, read = (stored) => ({ ...stored }), files = {} } = options;
  const server: Omit<ResponsesServer, "baseUrl"> = {
    ...{ requests: [], received: [], problems: [], stored: new Map() },
  };
  let reads = 0;

  async function create(call: Received): Promise<Response> {
    const { data: request, error } = createRequest.safeParse(
      JSON.parse(new TextDecoder().decode(call.body)),
    );
    if (request === undefined) {
      server.problems.push(
        ...error.issues.map((issue) => `${issue.path.join(".")}: ${issue.code}`),
      );
      return Response.json({ error: { message: "hunter2" } }, { status: 400 });
    }
    server.requests.push(request);
    const refusal = checkPrevious(server.stored, request);
    if (refusal !== undefined) return refusal;
    const planned = await plan(request, server.requests.length);
    if (planned instanceof Response) return planned;
    const id = `resp_${server.requests.length}`;
    const { output, end = {}, events = streamOf(output, { id, ...end }) } = planned;
    if (request.store !== false) server.stored.set(id, { id, status: "completed", output, ...end });
    return sse(events);
  }

  function readStored(id: string): Response {
    const stored = server.stored.get(id);
    if (stored === undefined) return Response.json({ error: { message: "none" } }, { status: 404 });
    reads += 1;
    const answer = read(stored, reads);
    return answer instanceof Response ? answer : Response.json(answer);
  }

  function cancel(id: string): Response {
    const stored = server.stored.get(id);
    if (stored === undefined) return new Response(null, { status: 404 });
    stored.wasCanceled = true;
    return Response.json({ ...stored, status: "cancelled" });
  }

  const { url } = closeAfterTest(
    await startWebServer({
      async handle(call) {
        server.received.push(call);
        const [path = ""] = call.target.split("?");
        const file = files[path];
        if (file !== undefined && call.request.method === "GET")
          return new Response(file, { headers: { "content-type": "text/csv; charset=utf-8" } });
        const [, id, action] = /^\/v1\/responses(?:\/([^/]+)(?:\/(cancel))?)?$/.exec(path) ?? [];
        const method = `${call.request.method} ${action ?? (id === undefined ? "" : "one")}`.trim();
        if (method === "POST") return create(call);
        if (method === "GET one" && id !== undefined) return readStored(id);
        if (method === "POST cancel" && id !== undefined) return cancel(id);
        return new Response(null, { status: 405 });
      },
    }),
  );
  return { ...server, baseUrl: `${url}/v1` };
}

/** A response before that is unknown, or whose approvals the request does not answer, is refused. */
function checkPrevious(
  stored: ReadonlyMap<string, Stored>,
  { previous_response_id: id, input }: CreateRequest,
): Response | undefined {
  const refuse = (code: string) =>
    Response.json({ error: { code, message: "hunter2" } }, { status: 400 });
  if (id === undefined) return undefined;
  const previous = stored.get(id);
  if (previous === undefined) return refuse("previous_response_not_found");
  const open = previous.output.filter(({ type }) => type === "mcp_approval_request");
  const answered = input.flatMap((item) =>
    item.type === "mcp_approval_response" ? [item.approval_request_id] : [],
  );
  const isCovered = open.map((item) => item.id).join() === answered.join();
  return isCovered ? undefined : refuse("missing_approval");
}

export function encode(events: readonly ServerEvent[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

export function sse(events: readonly ServerEvent[]): Response {
  return streaming(new TextEncoder().encode(encode(events)));
}

/** The bytes in pieces, with a pause after each. `breaksOff` resets the connection after the last one. */
export function streaming(
  bytes: Uint8Array,
  { pieceSize = bytes.length, breaksOff = false, pauseMs = 0 } = {},
): Response {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (at > 0 && pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (at < bytes.length) {
        controller.enqueue(bytes.subarray(at, at + pieceSize));
        at += pieceSize;
      } else if (breaksOff) controller.error(new Error("cut"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

export function messageOf(text: string, more: object = {}): OutputItem {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: "msg", role: "assistant", content, ...more };
}

/** The events of a whole response: each item begins, has its text in two pieces, and ends. */
export function streamOf(
  output: readonly OutputItem[],
  {
    id = "resp_1",
    status = "completed",
    ...more
  }: { id?: string; status?: string; output?: readonly OutputItem[] } = {},
): ServerEvent[] {
  const response = { id, object: "response", status: "in_progress", error: null, output: [] };
  return [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    ...output.flatMap((item, index) => itemEvents(item, index)),
    { type: `response.${status}`, response: { ...response, status, output, ...more } },
  ].map((event, index) => ({ ...event, sequence_number: index }));
}

function itemEvents(item: OutputItem, index: number): ServerEvent[] {
  const at = { output_index: index, item_id: item.id };
  const contents = Array.isArray(item.content) ? item.content : [];
  const texts = contents.flatMap((content: Record<string, unknown>, contentIndex) => {
    const isRefusal = content.type === "refusal";
    const kind = isRefusal ? "response.refusal" : "response.output_text";
    const text = String(content.text ?? content.refusal);
    const place = { ...at, content_index: contentIndex };
    const half = Math.ceil(text.length / 2);
    const emptyPart = { ...content, [isRefusal ? "refusal" : "text"]: "" };
    return [
      { type: "response.content_part.added", ...place, part: emptyPart },
      { type: `${kind}.delta`, ...place, delta: text.slice(0, half) },
      { type: `${kind}.delta`, ...place, delta: text.slice(half) },
      { type: `${kind}.done`, ...place, [isRefusal ? "refusal" : "text"]: text },
      { type: "response.content_part.done", ...place, part: content },
    ];
  });
  const emptyItem = item.type === "message" ? { ...item, content: [] } : item;
  return [
    { type: "response.output_item.added", output_index: index, item: emptyItem },
    ...texts,
    { type: "response.output_item.done", output_index: index, item },
  ];
}
