/** `files.*`: the first and the last step of an upload. */
import * as z from "zod";
import { readJson } from "../../read-json.ts";
import { toSlackFile } from "../slack-message.ts";
import { organization } from "../workspace.ts";
import type { Methods } from "./table.ts";

const uploadsSchema = z.array(z.object({ id: z.string(), title: z.string().optional() })).min(1);

export const fileMethods: Methods<"files"> = {
  "files.getUploadURLExternal": ({ args: { filename, length }, caller, bot, state }) => {
    const size = Number(length);
    if (!filename || !Number.isInteger(size) || size <= 0) return { error: "missing_argument" };
    const team = "team" in caller ? caller.team : organization.id;
    const { id, ticket } = state.files.announce({ name: filename, size, team, user: bot });
    return { file_id: id, upload_url: `${state.url}upload/v1/${ticket}` };
  },

  "files.completeUploadExternal": ({ args, bot, state: { files, messages, rules, url }, channel, threadTs }) => {
    const uploads = uploadsSchema.safeParse(readJson(args.files)).data;
    if (uploads === undefined) return { error: "invalid_arguments" };
    const isRefused = (file: ReturnType<typeof files.find>) =>
      file === undefined || (file.completed && rules.completesUploadTwice === "refuse");
    if (uploads.some(({ id }) => isRefused(files.find(id)))) return { error: "file_not_found" };
    const shared = uploads.flatMap((upload) => files.complete(upload) ?? []);
    const { initial_comment: text = "" } = args;
    if (channel !== undefined) messages.add({ channel: channel.id, threadTs, user: bot, text, files: shared });
    return { files: shared.map((file) => toSlackFile({ file, filesUrl: url })) };
  },
};
