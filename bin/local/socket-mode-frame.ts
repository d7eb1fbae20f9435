/** What one frame of Socket Mode is (https://docs.slack.dev/apis/events-api/using-socket-mode); pure. */
import * as z from "zod";

/** `word`: Slack's hello or goodbye. */
export type Frame = { kind: "word" } | { kind: "envelope"; id: string; type: string; payload: unknown };

const words: readonly string[] = ["hello", "disconnect"];
const frameSchema = z.object({ type: z.string(), envelope_id: z.string().optional(), payload: z.unknown().optional() });

/** Undefined for what is neither: without an id nothing can be acknowledged. */
export function readFrame(text: string): Frame | undefined {
  const { data } = frameSchema.safeParse(parse(text));
  if (data === undefined) return undefined;
  const { type, envelope_id: id, payload } = data;
  if (words.includes(type)) return { kind: "word" };
  return id === undefined ? undefined : { kind: "envelope", id, type, payload };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
