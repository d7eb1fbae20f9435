/** The files of a message (https://docs.slack.dev/reference/objects/file-object), as the queue carries them. */
import * as z from "zod/mini";
import type { AskedFile } from "../task/messages.ts";
import { slackId } from "./payload.ts";
import { storable } from "./storable.ts";

/** More than are ever taken along, so that the worker can say that they are too many. */
const maxFiles = 30;
const maxNameLength = 255;

/** Of what cannot be had Slack tells little more than the id. */
const fileSchema = z.object({
  id: slackId,
  name: z.nullish(z.string()),
  title: z.nullish(z.string()),
  mimetype: z.nullish(z.string()),
  size: z.nullish(z.int().check(z.nonnegative())),
  mode: z.nullish(z.string()),
  is_external: z.nullish(z.boolean()),
  url_private: z.nullish(z.string()),
  url_private_download: z.nullish(z.string()),
});

/** Deleted, too old for the workspace's plan, or kept somewhere else than in Slack. */
const absentModes: readonly unknown[] = ["tombstone", "hidden_by_limit", "external"];

/** A file that is not to be had stays in the list without `url`: whoever sent it is to read so. */
export function askedFiles(files: readonly unknown[]): AskedFile[] {
  return files.slice(0, maxFiles).flatMap((each) => {
    const { data: file } = fileSchema.safeParse(each);
    if (file === undefined) return [];
    const url = file.is_external || absentModes.includes(file.mode) ? undefined : urlOf(file);
    return [
      {
        id: file.id,
        name: storable((file.name || file.title || file.id).slice(0, maxNameLength)),
        mimetype: storable((file.mimetype || "application/octet-stream").slice(0, maxNameLength)),
        size: file.size ?? 0,
        ...(url === undefined ? {} : { url }),
      },
    ];
  });
}

function urlOf({ url_private_download, url_private }: z.infer<typeof fileSchema>): string | undefined {
  const url = url_private_download || url_private;
  return url && /^https?:\/\/[\x21-\x7e]{1,1000}$/.test(url) ? url : undefined;
}
