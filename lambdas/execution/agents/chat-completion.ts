/** Reads the stream of a chat completion (https://platform.openai.com/docs/api-reference/chat-streaming). */
import * as z from "zod";
import { parseServerSentEvents } from "./sse.ts";

const chunkSchema = z.object({
  error: z.unknown().optional(),
  choices: z
    .array(
      z.object({
        delta: z.object({ content: z.string().nullish() }).nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: z.looseObject({}).nullish(),
});

/** Far more than any answer with the frames around its tokens. */
const maxStreamBytes = 32 * 1024 * 1024;

/** Throws for an error event, for what is no chunk, and where the stream ends before the answer did. */
export async function* readCompletion({
  chunks,
  onChunk,
}: {
  chunks: AsyncIterable<Uint8Array>;
  onChunk: () => void;
}): AsyncGenerator<{ text: string; usage?: Record<string, unknown> | undefined }> {
  let finished = false;
  for await (const { event, data } of parseServerSentEvents({
    chunks: observed({ chunks, onChunk }),
    maxBytes: maxStreamBytes,
  })) {
    if (data === "[DONE]") return;
    const chunk = chunkSchema.parse(JSON.parse(data));
    if (event === "error" || chunk.error !== undefined) throw new Error("the endpoint reported an error");
    const [choice] = chunk.choices ?? [];
    finished ||= typeof choice?.finish_reason === "string";
    yield { text: choice?.delta?.content ?? "", usage: chunk.usage ?? undefined };
  }
  if (!finished) throw new Error("the stream broke off");
}

async function* observed({ chunks, onChunk }: { chunks: AsyncIterable<Uint8Array>; onChunk: () => void }) {
  for await (const chunk of chunks) {
    onChunk();
    yield chunk;
  }
}
