/** `files.getUploadURLExternal` and `files.completeUploadExternal`: the first and the last step of an upload. */
import * as z from "zod";
import {
  errorReply,
  type FakeSlackCaller,
  type FakeSlackMethod,
  findBotUser,
  findVisibleChannel,
  readJson,
} from "./reply.ts";
import { toSlackFile } from "./slack-message.ts";
import type { FakeSlackState } from "./state.ts";
import { organization } from "./workspace.ts";

const uploadsSchema = z.array(z.object({ id: z.string(), title: z.string().optional() })).min(1);

export function fileMethods(state: FakeSlackState): Record<string, FakeSlackMethod> {
  const { files, messages, rules } = state;

  const getUploadUrl: FakeSlackMethod = ({ filename, length }, caller) => {
    const size = Number(length);
    if (!filename || !Number.isInteger(size) || size <= 0) return errorReply("missing_argument");
    const { id, ticket } = files.expect({
      name: filename,
      size,
      team: homeOf(caller),
      user: findBotUser(caller) ?? "",
    });
    return { ok: true, file_id: id, upload_url: `${state.filesUrl()}upload/v1/${ticket}` };
  };

  const complete: FakeSlackMethod = (args, caller) => {
    const { channel_id: channel, thread_ts: threadTs, initial_comment: comment = "" } = args;
    const uploads = uploadsSchema.safeParse(readJson(args.files ?? "")).data;
    if (uploads === undefined) return errorReply("invalid_arguments");
    if (channel !== undefined && findVisibleChannel(caller, channel) === undefined)
      return errorReply("channel_not_found");
    if (channel !== undefined && threadTs !== undefined && messages.find({ channel, ts: threadTs }) === undefined) {
      return errorReply("invalid_thread_ts");
    }
    const uploaded = uploads.map(({ id }) => files.find(id));
    const refuses = rules.completesUploadTwice === "refuse";
    if (uploaded.some((file) => file === undefined || (file.completed && refuses))) return errorReply("file_not_found");
    const shared = uploads.flatMap(({ id, title }) => files.complete({ id, title }) ?? []);
    if (channel !== undefined) {
      const user = findBotUser(caller) ?? "";
      messages.add({ channel, threadTs, user, text: comment, metadata: undefined, files: shared });
    }
    return { ok: true, files: shared.map((file) => toSlackFile({ file, filesUrl: state.filesUrl() })) };
  };

  return { "files.getUploadURLExternal": getUploadUrl, "files.completeUploadExternal": complete };
}

function homeOf(caller: FakeSlackCaller): string {
  return "team" in caller ? caller.team : organization.id;
}
