/** The files of forwarded messages. They are in the attachments of a message, never among its own files. */
import type { UserFile } from "../../task/messages.ts";
import { isForward } from "../context/attachments.ts";
import { fieldsOf } from "../context/values.ts";
import { readUserFiles } from "./user-text.ts";

/** So many fit into a queue message beside the longest text and the message's own files. */
const maxSharedFiles = 10;

/** Lists the files of the messages that a person forwards. A preview of a pasted link is none, because the person may not have meant to send it. */
export function readSharedFiles({ attachments, subtype }: { attachments?: unknown; subtype?: unknown }): UserFile[] {
  const isShareMessage = subtype === "message_share";
  const listed: readonly unknown[] = Array.isArray(attachments) ? attachments : [];
  const files = listed.map(fieldsOf).flatMap((attachment) => {
    return isForward(attachment, { isShareMessage }) && Array.isArray(attachment.files)
      ? readUserFiles(attachment.files)
      : [];
  });
  return files.slice(0, maxSharedFiles);
}
