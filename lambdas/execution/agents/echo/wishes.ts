/** What the echo agent is asked for by the words of a text; pure. */
import type { SampleFile } from "./sample-files.ts";

/** What an answer is made of; without one, of what was said. */
export type Body = "story" | "long" | "very long";

type Wishes = {
  lengthMs: number;
  /** 0 where nothing is to be waited for. */
  steps: number;
  /** Whether each step is told, and whether each brings a piece of the answer. */
  reports: boolean;
  streams: boolean;
  questions: number;
  fails: boolean;
  body: Body | undefined;
  files: readonly SampleFile[];
  /** Whether the attachments are to be read. */
  reads: boolean;
};

const longestMs = 3600_000;
const stepsOf = { progress: 5, stream: 10 };
const reading = /\bread (the |my )?files?\b/gi;

export function wishesOf({ text, stepMs }: { text: string; stepMs: number }): Wishes {
  const says = (word: RegExp) => word.test(text);
  const reports = says(/\bprogress\b/i);
  const streams = says(/\bstream\b/i);
  const [, amount, unit] = /\bslow\s+(\d{1,9})\s*(ms|s)\b/i.exec(text) ?? [];
  const slowMs = amount === undefined ? undefined : Number(amount) * (unit?.toLowerCase() === "ms" ? 1 : 1000);
  const pieces = streams ? stepsOf.stream : reports ? stepsOf.progress : 0;
  const lengthMs = Math.min(longestMs, slowMs ?? pieces * stepMs);
  const others = text.replace(reading, "");
  return {
    lengthMs,
    steps: lengthMs > 0 ? Math.max(pieces, 1) : pieces,
    reports,
    streams,
    questions: says(/\bask (me )?twice\b/i) ? 2 : says(/\bask me\b/i) ? 1 : 0,
    fails: says(/\bfail\b/i),
    body: says(/\bvery long\b/i) ? "very long" : says(/\blong\b/i) ? "long" : streams ? "story" : undefined,
    files: [...(/\bfile\b/i.test(others) ? ["table" as const] : []), ...(says(/\bimage\b/i) ? ["image" as const] : [])],
    reads: others !== text,
  };
}
