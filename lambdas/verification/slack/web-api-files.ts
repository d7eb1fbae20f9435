/** Files on their way out, in Slack's three steps (https://docs.slack.dev/messaging/working-with-files, "Uploading files"). */
import * as z from "zod";
import type { Repeating } from "./repeating.ts";
import { sendUpload } from "./send-upload.ts";
import { type SlackApi, SlackError } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

const ticketSchema = z.object({ file_id: z.string(), upload_url: z.string() });

/** `uploadTimeoutMs` is for the bytes, which take longer than a call. */
export function createFileCalls({
  call,
  repeating,
  apiUrl,
  uploadTimeoutMs,
}: {
  call: SlackCall;
  repeating: Repeating;
  apiUrl: string;
  uploadTimeoutMs: number;
}): Pick<SlackApi, "startUpload" | "sendUpload" | "shareUploads"> {
  return {
    async startUpload({ name, length, ...common }) {
      const args = { filename: name, length };
      // One that nothing is sent to is forgotten by Slack.
      const answer = await call({ method: "files.getUploadURLExternal", args, ...common, repeatable: true });
      const ticket = ticketSchema.safeParse(answer).data;
      if (ticket === undefined) throw new SlackError("ambiguous");
      return { fileId: ticket.file_id, url: ticket.upload_url };
    },
    async sendUpload({ url, bytes, signal, requestId }) {
      const exchange = () => sendUpload({ url, bytes, apiUrl, timeoutMs: uploadTimeoutMs, signal });
      await repeating({ method: "upload", requestId, repeatable: false, signal, exchange });
    },
    async shareUploads({ channel, threadTs, files, ...common }) {
      const args = {
        channel_id: channel,
        thread_ts: threadTs,
        files: files.map(({ fileId: id, title }) => ({ id, title })),
      };
      await call({ method: "files.completeUploadExternal", args, ...common, repeatable: false });
    },
  };
}
