/** What the echo agent tells of the files that it was sent: their bytes, or why it could not have them. */
import { createHash } from "node:crypto";
import { SekishoError } from "../../../../contracts/errors.ts";
import type { AgentTask, ReadAttachment } from "../agent.ts";

/** One line for each, in their order. Rejects where `signal` says so. */
export async function fileLines({
  attachments,
  readAttachment,
  signal,
}: {
  attachments: NonNullable<AgentTask["attachments"]>;
  readAttachment: ReadAttachment;
  signal: AbortSignal;
}): Promise<string[]> {
  const lines: string[] = [];
  for (const attachment of attachments) {
    const told = await readAttachment({ attachment }).then(inWords, (thrown: unknown) => {
      signal.throwIfAborted();
      return `not read (${SekishoError.from(thrown).reason})`;
    });
    lines.push(`${attachment.name}: ${told}`);
  }
  return lines;
}

function inWords(bytes: Uint8Array): string {
  return `${bytes.byteLength} bytes, sha256 ${createHash("sha256").update(bytes).digest("hex")}`;
}
