/** Keeps the stand-in's messages in a file, so that threads outlive the process, as they do in Slack. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import { fileSchema } from "./file-schema.ts";
import type { Messages, Stored } from "./messages.ts";

const storedSchema = z.object({
  lastMicros: z.int().nonnegative(),
  messages: z.array(
    z.object({
      channel: z.string(),
      ts: z.string(),
      threadTs: z.string().optional(),
      user: z.string(),
      text: z.string(),
      metadata: z.unknown().optional(),
      edited: z.boolean(),
      reactions: z.array(z.string()),
      blocks: z.array(z.looseObject({ type: z.string() })).optional(),
      files: z.array(fileSchema).optional(),
      stream: z.object({ state: z.enum(["open", "closed"]), startedAtMs: z.number() }).optional(),
    }),
  ),
});

/** The latest that are kept: the whole file is written at each change. */
const maxMessages = 1000;

/** Undefined where there is no file yet. Throws, with what to do, for a file that holds something else. */
export function readMessages({ file }: { file: string }): Stored | undefined {
  try {
    const { lastMicros, messages } = storedSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    return {
      lastMicros,
      messages: messages.map((message) => ({ threadTs: undefined, metadata: undefined, ...message })),
    };
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    throw new Error(`The stand-in's messages in ${file} cannot be read. Delete the file to start without them.`, {
      cause,
    });
  }
}

/**
 * Writes at each change, before the call that made it is answered: what Slack has confirmed survives kill -9. The file is
 * replaced as a whole, and private to the user. `onFailure` gets the error's code where it cannot be written.
 */
export function keepMessages({
  messages,
  file,
  onFailure,
}: {
  messages: Messages;
  file: string;
  onFailure: (code: string) => void;
}): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.next`;
  messages.onChange(() => {
    const { lastMicros, messages: all } = messages.snapshot();
    try {
      writeFileSync(next, JSON.stringify({ lastMicros, messages: all.slice(-maxMessages) }), { mode: 0o600 });
      renameSync(next, file);
    } catch (error) {
      onFailure(codeOf(error) ?? "unknown");
    }
  });
}

function codeOf(error: unknown): string | undefined {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}
