/** Server-sent events, however the bytes are cut. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseServerSentEvents, type ServerSentEvent } from "../../../lambdas/execution/agents/openai-compatible.ts";

async function eventsOf(bytes: Uint8Array, cuts: readonly number[] = [], maxBytes = 1e6): Promise<ServerSentEvent[]> {
  async function* chunks() {
    let from = 0;
    for (const at of [...new Set(cuts)].sort((a, b) => a - b)) {
      yield bytes.subarray(from, at);
      from = at;
    }
    yield bytes.subarray(from);
  }
  const events: ServerSentEvent[] = [];
  for await (const event of parseServerSentEvents({ chunks: chunks(), maxBytes })) events.push(event);
  return events;
}

const bytes = (text: string) => new TextEncoder().encode(text);

describe("server-sent events", () => {
  it.each([
    ["one event", "data: a\n\n", [{ event: "", data: "a" }]],
    ["without the space", "data:a\n\n", [{ event: "", data: "a" }]],
    ["a second space belongs to the data", "data:  a\n\n", [{ event: "", data: " a" }]],
    ["a colon in the data", "data: a: b\n\n", [{ event: "", data: "a: b" }]],
    ["several lines", "data: a\ndata: b\n\n", [{ event: "", data: "a\nb" }]],
    ["a field without a colon", "data\n\n", [{ event: "", data: "" }]],
    [
      "CRLF",
      "data: a\r\n\r\ndata: b\r\n\r\n",
      [
        { event: "", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    [
      "CR alone",
      "data: a\r\rdata: b\r\r",
      [
        { event: "", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    ["comments and unknown fields", ": hi\nid: 7\nretry: 1\ndata: a\n\n", [{ event: "", data: "a" }]],
    [
      "a named event",
      "event: error\ndata: a\n\ndata: b\n\n",
      [
        { event: "error", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    ["an event without data", "event: x\n\n\n\n", []],
    ["a byte order mark", "\uFEFFdata: a\n\n", [{ event: "", data: "a" }]],
    [
      "an end without an empty line",
      "data: a\n\ndata: b",
      [
        { event: "", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    ["nothing", "", []],
  ])("%s", async (_name, text, expected) => {
    expect(await eventsOf(bytes(text))).toEqual(expected);
  });

  it("are the same wherever the chunks are cut, be it inside a character or a line end", async () => {
    const line = fc.oneof(
      fc.constantFrom("data: 関所 🏯", "data:", ": note", "event: error", "", ""),
      fc.string({ maxLength: 8 }),
    );
    const text = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n")), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(200)), async (lines, cuts) => {
        const whole = bytes(lines.flat().join(""));
        expect(await eventsOf(whole, cuts)).toEqual(await eventsOf(whole));
      }),
    );
  });

  it("are read up to a limit", async () => {
    await expect(eventsOf(bytes("data: aaaaaaaaaa\n\n"), [4, 8], 10)).rejects.toThrow();
  });

  it("that are no UTF-8 are refused", async () => {
    await expect(eventsOf(new Uint8Array([0x64, 0xff, 0x0a]))).rejects.toThrow(/not valid/);
  });
});
