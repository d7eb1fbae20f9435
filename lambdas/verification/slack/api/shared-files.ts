/** The files of forwarded messages. They are in the attachments of a message, never among its own files. */
import type { UserFile } from "../../task/messages.ts";
import { readUserFiles } from "./user-text.ts";

/** So many fit into a queue message beside the longest text and the message's own files. */
const maxSharedFiles = 10;

/**
 * Lists the files of the messages that a person forwards. Slack marks those with `is_share`; a preview of a pasted link, which the person may
 * not have meant to send, has other marks.
 */
export function readSharedFiles(attachments: unknown): UserFile[] {
  const listed = Array.isArray(attachments) ? attachments : [];
  const files = listed.flatMap((attachment: unknown) => {
    const { is_share, files: ofShare } = Object(attachment) as { is_share?: unknown; files?: unknown };
    return is_share === true && Array.isArray(ofShare) ? readUserFiles(ofShare) : [];
  });
  return files.slice(0, maxSharedFiles);
}
