/** A server that speaks ConverseStream the way a test says, over a real socket. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { crc32 } from "node:zlib";
import { keepConnections } from "../../doubles/web-server.ts";

type ConverseRequest = { path: string; headers: IncomingHttpHeaders; body: unknown };

export type BedrockServer = {
  endpoint: string;
  requests: ConverseRequest[];
  close(): Promise<void>;
};

export async function startBedrockServer(
  answer: (response: ServerResponse) => unknown,
): Promise<BedrockServer> {
  const requests: ConverseRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { url = "", headers } = request;
    requests.push({ path: url, headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
    await answer(response);
  });
  keepConnections(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The head of an event stream; the test writes the rest. */
export function eventStream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
}

export function text(part: string): Buffer {
  return frame({
    event: "contentBlockDelta",
    payload: { contentBlockIndex: 0, delta: { text: part } },
  });
}

/** A call of a tool: its start, its input in pieces, and its end. */
export function toolUse(call: {
  index: number;
  id: string;
  name: string;
  input: string;
  type?: string;
}): Buffer {
  const { index: contentBlockIndex, id, name, type, input: wholeInput } = call;
  const start = { toolUse: { toolUseId: id, name, ...(type && { type }) } };
  const pieces = wholeInput.match(/[\s\S]{1,4}(?:[\s\S]{100000})?/g) ?? [];
  return Buffer.concat([
    frame({ event: "contentBlockStart", payload: { contentBlockIndex, start } }),
    ...pieces.map((input) =>
      frame({
        event: "contentBlockDelta",
        payload: { contentBlockIndex, delta: { toolUse: { input } } },
      }),
    ),
    frame({ event: "contentBlockStop", payload: { contentBlockIndex } }),
  ]);
}

export function stop(stopReason: string): Buffer {
  return frame({ event: "messageStop", payload: { stopReason } });
}

export function metadata(usage: Record<string, number>): Buffer {
  return frame({ event: "metadata", payload: { usage, metrics: { latencyMs: 1 } } });
}

export function exception(name: string, message: string): Buffer {
  return frame({ exception: name, payload: { message } });
}

/** What AWS answers where it refuses. */
export function refuse(
  response: ServerResponse,
  { status, name }: { status: number; name: string },
): void {
  response.writeHead(status, { "content-type": "application/json", "x-amzn-errortype": name });
  response.end(JSON.stringify({ message: "hunter2 may not do this" }));
}

type Frame = { event?: string; exception?: string; payload: unknown };

export function frame({ event, exception, payload }: Frame): Buffer {
  const type = event === undefined ? "exception" : "event";
  const headers = {
    ":message-type": type,
    [`:${type}-type`]: event ?? exception ?? "",
    ":content-type": "application/json",
  };
  return encodeMessage(headers, JSON.stringify(payload));
}

/** https://smithy.io/2.0/aws/amazon-eventstream.html: prelude with its checksum, headers, payload, checksum of all. */
export function encodeMessage(
  headers: Record<string, string>,
  payload: string,
  spoilLengths: (prelude: Buffer) => void = () => {},
): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const body = Buffer.from(payload);
  const prelude = Buffer.concat([uint32(16 + head.length + body.length), uint32(head.length)]);
  spoilLengths(prelude);
  const unchecked = Buffer.concat([prelude, uint32(crc32(prelude)), head, body]);
  return Buffer.concat([unchecked, uint32(crc32(unchecked))]);
}

/** Type 7 is a string, preceded by its length in two bytes. */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([
    Buffer.of(name.length),
    Buffer.from(name),
    Buffer.of(7),
    length,
    Buffer.from(value),
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
