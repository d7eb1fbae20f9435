/** Log lines, as they come through a pipe. */
import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { readLogLines } from "../../../lib/cli/trace/read-log-lines.ts";
import { knownLines, knownLogs } from "./known.ts";

const startMs = 1_760_000_000_000;
const { signal } = new AbortController();

describe("log lines from a pipe", () => {
  it("are read to the end, wherever the pipe cuts them, and what is none of ours is counted", async () => {
    const text = ["# a comment", "", ...knownLogs({ startMs }).map((line) => line.trim()), "{}"].join("\r\n");
    const pieces = text.match(/[\s\S]{1,7}/g) ?? [];
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
