/** Log lines, read back from wherever they were written. */
import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseLogLine, readLogLines } from "../../../lib/cli/trace/log-lines.ts";
import { knownLines, knownLogs, requestId } from "./known.ts";

const startMs = Date.UTC(2026, 10, 22, 3, 52, 20, 785);
const [text = ""] = knownLogs({ startMs });

describe("a log line", () => {
  it("is read as it was written", () => {
    expect(parseLogLine(text)).toMatchObject({
      atMs: startMs + 180,
      level: "info",
      message: "task_started",
      service: "execution",
      fields: { request_id: requestId, operation: "execute_task", agent: "echo" },
    });
  });

  it.each(["2026-11-22T03:52:20.785Z 4f1c INFO ", "\t", "[web] ", "execution-1  | "])(
    "is found behind %j",
    (before) => {
      expect(parseLogLine(`${before}${text.trim()} `)).toEqual(parseLogLine(text));
    },
  );

  it("keeps no field of another program's line, and no text in a field of ours that could move a terminal's cursor", () => {
    const line = {
      message: "some_event",
      timestamp: new Date(startMs).toISOString(),
      prompt: "a text",
      reason: "a\u001b[2Jb",
    };
    expect(parseLogLine(JSON.stringify(line))?.fields).toEqual({ reason: "a[2Jb" });
  });

  it.each(["-271821-04-20T00:00:00Z", "1999-12-31T23:59:59Z", "2100-01-01T00:00:00Z"])(
    "is none of the time %s, which no clock of ours tells",
    (timestamp) => {
      expect(parseLogLine(JSON.stringify({ message: "task_step", timestamp }))).toBeUndefined();
    },
  );

  it.each([1e308, -1, "soon", 31 * 24 * 3600_000])(
    "has no duration where that says %j",
    (duration_ms) => {
      const timestamp = new Date(startMs).toISOString();
      const line = parseLogLine(
        JSON.stringify({ message: "call_answered", timestamp, duration_ms, attempt: 1 }),
      );
      expect(line?.fields).toEqual({ attempt: 1 });
    },
  );

  it("is none where its message is a sentence, its time no time, or it is no object", () => {
    const timestamp = new Date(startMs).toISOString();
    const none = [
      '{"message":"x_y","timestamp":"soon"}',
      JSON.stringify({ message: "Hello there", timestamp }),
      "{",
      "[1]",
      "",
    ];
    for (const each of none) expect(parseLogLine(each)).toBeUndefined();
  });

  it("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (any) => {
        expect(() => parseLogLine(any)).not.toThrow();
      }),
    );
  });
});

describe("log lines from a pipe", () => {
  const { signal } = new AbortController();

  it("are read to the end, wherever the pipe cuts them, and lines of others are counted", async () => {
    const lines = knownLogs({ startMs }).map((line) => line.trim());
    const text = [
      "# a comment 日本",
      "",
      ...lines.slice(0, 2),
      `${lines.slice(2).join("\t")}`,
      "{}",
    ].join("\r\n");
    const bytes = Buffer.from(text);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) =>
      bytes.subarray(at * 7, at * 7 + 7),
    );
    const read = await readLogLines({ files: ["-"], stdin: Readable.from(pieces), signal });
    expect(read).toEqual({ lines: knownLines({ startMs }), skipped: 2, cut: false });
  });

  it("are waited for no longer once the person interrupts", async () => {
    const stop = new AbortController();
    const stdin = new PassThrough();
    stdin.write(knownLogs({ startMs }).join(""));
    const reading = readLogLines({ files: ["-"], stdin, signal: stop.signal });
    setImmediate(() => stop.abort());
    await expect(reading).rejects.toThrow("Interrupted.");
  });
});
