/** `files.*` and `canvases.*`: what is known of a file, the text of a canvas, and the first and the last step of an upload. */
import * as z from "zod";
import { readJson } from "../../read-json.ts";
import { type FakeSlackCaller, hasAccessToTeam } from "../reply.ts";
import { toSlackFile } from "../slack-message.ts";
import { organization } from "../workspace.ts";
import type { Methods } from "./table.ts";

const uploadsSchema = z.array(z.object({ id: z.string(), title: z.string().optional() })).min(1);

/** The second workspace's files are in the channel that it shares with the first. */
export function mayReadFile(caller: FakeSlackCaller, { team }: { team: string }): boolean {
  return hasAccessToTeam(caller, team) || team === "TSECOND";
}

const canvasType = "application/vnd.slack-docs";

export const canvasMethods: Methods<"canvases"> = {
  "canvases.getContent": ({
    args: { canvas_id: id = "", content_type: type = "markdown" },
    caller,
    state,
  }) => {
    const file = state.files.find(id);
    if (id === "" || !["markdown", "html"].includes(type)) return { error: "missing_argument" };
    if (file === undefined || file.mimetype !== canvasType || !mayReadFile(caller, file)) {
      return { error: "canvas_not_found" };
    }
    const text = Buffer.from(file.bytes).toString();
    return { content: type === "html" ? `<p>${text}</p>` : text };
  },
};

export const fileMethods: Methods<"files"> = {
  "files.info": ({ args: { file: id = "" }, caller, state }) => {
    const file = state.files.find(id);
    if (file === undefined || !mayReadFile(caller, file)) return { error: "file_not_found" };
    return file.access === "access_denied"
      ? { error: "access_denied" }
      : { file: toSlackFile({ file, filesUrl: state.url }) };
  },

  "files.getUploadURLExternal": ({ args: { filename, length }, caller, bot, state }) => {
    const size = Number(length);
    if (!filename || !Number.isInteger(size) || size <= 0) return { error: "missing_argument" };
    const team = "team" in caller ? caller.team : organization.id;
    const { id, ticket } = state.files.announce({ name: filename, size, team, user: bot });
    return { file_id: id, upload_url: `${state.url}upload/v1/${ticket}` };
  },

  "files.completeUploadExternal": ({
    args,
    bot,
    state: { files, messages, rules, url },
    channel,
    threadTs,
  }) => {
    const uploads = uploadsSchema.safeParse(readJson(args.files)).data;
    if (uploads === undefined) return { error: "invalid_arguments" };
    const isRefused = (file: ReturnType<typeof files.find>) =>
      file === undefined || (file.completed && rules.completesUploadTwice === "refuse");
    if (uploads.some(({ id }) => isRefused(files.find(id)))) return { error: "file_not_found" };
    const sharedFiles = uploads.flatMap((upload) => files.complete(upload) ?? []);
    const { initial_comment: text = "" } = args;
    if (channel !== undefined)
      messages.add({ channel: channel.id, threadTs, user: bot, text, files: sharedFiles });
    return { files: sharedFiles.map((file) => toSlackFile({ file, filesUrl: url })) };
  },
};
