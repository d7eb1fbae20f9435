import { describe, expect, it } from "@jest/globals";
import { createEventCollector } from "@sekisho/verification/transport/read-events.ts";

const maxBytes = 1024 * 1024;
const response = (text: string) => JSON.stringify({ jsonrpc: "2.0", id: "1", result: { text } });

/** What is read of a stream that arrives in pieces of that many bytes. */
function readEvents(stream: string, pieceBytes = 7) {
  const collector = createEventCollector({ maxBytes });
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length && !collector.isDone(); at += pieceBytes) {
    collector.add(bytes.subarray(at, at + pieceBytes));
  }
  return { body: Buffer.from(collector.end().body).toString(), isDone: collector.isDone() };
}

describe("a stream of events", () => {
  it.each(["\n", "\r\n", "\r"])(
    "reads a stream up to its first response, with any line ends (%j)",
    (end) => {
      const answer = response("süß 🦊");
      const lines = [
        ": hello",
        "",
        "event: ping",
        "data: {}",
        "",
        "data: no",
        "",
        `data: ${answer}`,
        "",
        ": more",
      ];
      for (const pieceBytes of [1, 2, 3, 1000]) {
        expect(readEvents(lines.join(end) + end, pieceBytes)).toEqual({
          body: answer,
          isDone: true,
        });
      }
    },
  );

  it("joins a response of several lines", () => {
    const [first = "", second = ""] = response("a").split(',"id"');
    const body = `${first}\n,"id"${second}`;
    expect(readEvents(`data: ${first}\ndata: ,"id"${second}\n\n`)).toEqual({ body, isDone: true });
  });

  it("reads a response at its end even if the stream stays open", () => {
    for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
      expect(readEvents(`data: ${response("a")}${end}`, 5)).toEqual({
        body: response("a"),
        isDone: true,
      });
    }
  });

  it("skips notifications before the response", () => {
    const notification = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: {},
    });
    const stream = `data: ${notification}\n\ndata: ${response("a")}\n\n`;
    expect(readEvents(stream)).toEqual({ body: response("a"), isDone: true });
    expect(readEvents(`data: ${notification}\n\n`)).toEqual({ body: "", isDone: false });
  });

  it("returns an empty body for a stream that ends before its response is complete", () => {
    for (const stream of ["", ":\n\n", "data: [1]\n\ndata: null\n\n", `data: ${response("a")}\n`]) {
      expect(readEvents(stream)).toEqual({ body: "", isDone: false });
    }
  });

  it("reads a stream in many small pieces and stops at the limit", () => {
    const fullStream = `data: ${response("x".repeat(900_000))}\n\n`.padStart(maxBytes, "\n");
    expect(readEvents(fullStream, 9).isDone).toBe(true);
    expect(() => readEvents(`\n${fullStream}`, 9)).toThrow("larger");
    const endless = () => readEvents(": still there\n\n".repeat(maxBytes));
    expect(endless).toThrow(
      expect.objectContaining({ reason: "payload_too_large", certainty: "unread" }),
    );
  });
});
