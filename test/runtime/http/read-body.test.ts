import { PassThrough } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import {
  createBodyCollector,
  readBody,
  readResponseBody,
} from "@sekisho/runtime/http/read-body.ts";

function streamOf(texts: readonly string[]): PassThrough {
  const stream = new PassThrough();
  for (const text of texts) stream.write(text);
  stream.end();
  return stream;
}

describe("a body", () => {
  it("reads a whole body up to the limit", async () => {
    const body = await readBody({ body: streamOf(["ab", "", "cd"]), maxBytes: 4 });
    expect(body.toString()).toBe("abcd");
    expect(await readBody({ body: streamOf([]), maxBytes: 0 })).toHaveLength(0);
  });

  it("collects many chunks with at most twice their size of memory", () => {
    const collector = createBodyCollector({ maxBytes: 1024 * 1024 });
    const text = Array.from({ length: 5000 }, (_, at) => String(at)).join(",");
    for (const letter of text) collector.add(Buffer.from(letter));
    const bytes = collector.bytes();
    expect(bytes.toString()).toBe(text);
    expect(bytes.buffer.byteLength).toBeLessThanOrEqual(2 * text.length);
  });

  it("refuses a body one byte past the limit and destroys its stream", async () => {
    const stream = streamOf(["ab", "cde"]);
    expect(await readBody({ body: stream, maxBytes: 4 })).toBe("too_large");
    expect(stream.destroyed).toBe(true);
  });

  it("does not read a response that announces a larger length", async () => {
    let isCanceled = false;
    const body = new ReadableStream({
      cancel() {
        isCanceled = true;
      },
    });
    const response = new Response(body, { headers: { "content-length": "5" } });
    expect(await readResponseBody({ response, maxBytes: 4 })).toBe("too_large");
    expect(isCanceled).toBe(true);
    const fitting = new Response("abcd", { headers: { "content-length": "4" } });
    expect(await readResponseBody({ response: fitting, maxBytes: 4 })).toHaveLength(4);
    expect(await readResponseBody({ response: new Response(null), maxBytes: 4 })).toHaveLength(0);
  });

  it("keeps only the bytes of the chunk itself and nothing past the limit", () => {
    const collector = createBodyCollector({ maxBytes: 4 });
    collector.add(Buffer.from("abcdef").subarray(1, 4));
    expect(collector.bytes().toString()).toBe("bcd");
    expect(collector.add(Buffer.from("gh"))).toBe(false);
    expect(collector.bytes().toString()).toBe("bcd");
  });
});
