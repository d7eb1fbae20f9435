import { describe, expect, it } from "@jest/globals";
import { createEventCollector } from "@sekisho/verification/transport/read-events.ts";

const maxBytes = 1024 * 1024;
const response = (text: string) => JSON.stringify({ jsonrpc: "2.0", id: "1", result: { text } });

/** What is read of a stream that arrives in pieces of that many bytes. */
function read(stream: string, pieceBytes = 7) {
  const collector = createEventCollector({ maxBytes });
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length && !collector.isDone(); at += pieceBytes) {
    collector.add(bytes.subarray(at, at + pieceBytes));
  }
  return { body: Buffer.from(collector.end().body).toString(), isDone: collector.isDone() };
}

describe("a stream of events", () => {
  it.each(["\n", "\r\n", "\r"])(
    "is read up to its first response, whatever ends its lines (%j)",
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
        expect(read(lines.join(end) + end, pieceBytes)).toEqual({ body: answer, isDone: true });
      }
    },
  );

  it("may have a response of several lines", () => {
    const [first = "", second = ""] = response("a").split(',"id"');
    const body = `${first}\n,"id"${second}`;
    expect(read(`data: ${first}\ndata: ,"id"${second}\n\n`)).toEqual({ body, isDone: true });
  });

  it("is read at the end of its first response, also if the stream stays open", () => {
    for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
      expect(read(`data: ${response("a")}${end}`, 5)).toEqual({
        body: response("a"),
        isDone: true,
      });
    }
  });

  it("may begin with notifications", () => {
    const notification = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: {},
    });
    const stream = `data: ${notification}\n\ndata: ${response("a")}\n\n`;
    expect(read(stream)).toEqual({ body: response("a"), isDone: true });
    expect(read(`data: ${notification}\n\n`)).toEqual({ body: "", isDone: false });
  });

  it("without a response has none, also where it breaks off within one", () => {
    for (const stream of ["", ":\n\n", "data: [1]\n\ndata: null\n\n", `data: ${response("a")}\n`]) {
      expect(read(stream)).toEqual({ body: "", isDone: false });
    }
  });

  it("may come in a hundred thousand pieces, and is not read beyond the limit", () => {
    const filled = `data: ${response("x".repeat(900_000))}\n\n`.padStart(maxBytes, "\n");
    expect(read(filled, 9).isDone).toBe(true);
    expect(() => read(`\n${filled}`, 9)).toThrow("larger");
    const endless = () => read(": still there\n\n".repeat(maxBytes));
    expect(endless).toThrow(
      expect.objectContaining({ reason: "payload_too_large", certainty: "unread" }),
    );
  });
});
