/** Files: what the product brings in is there or not; what it brings out takes the steps of an upload. */

import { silentLog } from "@sekisho/runtime/log.ts";
import type { Files } from "@sekisho/verification/files/files.ts";
import { createUpload } from "@sekisho/verification/files/upload.ts";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { createShare } from "@sekisho/verification/slots.ts";
import { operate } from "./operate.ts";
import type { World } from "./world.ts";

const times = { usualMs: 300, giveUpMs: 10_000, landMs: 10_000 };
const failures = {
  refused: () => new SlackError("unavailable"),
  unknown: () => new SlackError("ambiguous"),
};

export function createSimFiles({ world, slack }: { world: World; slack: SlackApi }): Files {
  return {
    transfers: createShare({ max: 3 }),
    importAttachments: ({ task, signal }) =>
      operate({
        world,
        point: "files.in",
        about: () => world.names.of(task.id),
        times,
        failures,
        signal,
        effect: () =>
          (task.message.files ?? []).map(({ id, name, mimetype, size }) => ({
            ...{ id, name, mimetype, size },
            url: `https://files.example/${task.id}/${id}`,
          })),
      }),
    importFurtherFiles: async () => ({ attachments: [], leftOut: [] }),
    ...createUpload({
      slack,
      publicFetch: () => () => Promise.reject(new Error("nothing is fetched here")),
      maxBytes: 1_000_000,
      fetchTimeoutMs: 1000,
      now: Date.now,
      log: silentLog,
    }),
  };
}
