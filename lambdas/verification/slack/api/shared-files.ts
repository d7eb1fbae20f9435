/** The forwarded messages of a message, and their files. They are in its attachments, never among its own files. */
import type { UserFile } from "../../task/messages.ts";
import { isForward } from "../context/attachments.ts";
import { type Fields, fieldsOf } from "../context/values.ts";
import { readUserFiles } from "./user-text.ts";

/** So many fit into a queue message beside the longest text and the message's own files. */
const maxSharedFiles = 10;

type Attached = { attachments?: unknown; subtype?: unknown };

/** Lists the files of the messages that a person forwards. A preview of a pasted link is none, because the person may not have meant to send it. */
export function readSharedFiles(message: Attached): UserFile[] {
  const files = listForwards(message).flatMap((forward) => {
    return Array.isArray(forward.files) ? readUserFiles(forward.files) : [];
  });
  return files.slice(0, maxSharedFiles);
}

/** Returns how many messages a person forwards with the message. */
export function countForwards(message: Attached): number {
  return listForwards(message).length;
}

/** Returns the message without the messages that a person forwards with it. */
export function removeForwards(message: unknown): Fields {
  const { attachments, ...fields } = fieldsOf(message);
  if (!Array.isArray(attachments)) return fieldsOf(message);
  const forwards = new Set<unknown>(listForwards({ ...fields, attachments }));
  return { ...fields, attachments: attachments.filter((each) => !forwards.has(each)) };
}

function listForwards({ attachments, subtype }: Attached): Fields[] {
  const isShareMessage = subtype === "message_share";
  const attachmentList: readonly unknown[] = Array.isArray(attachments) ? attachments : [];
  return attachmentList
    .map(fieldsOf)
    .filter((attachment) => isForward(attachment, { isShareMessage }));
}
