/** Acts that bring the answer and its files into the thread. */
import { deliver } from "../deliver.ts";
import type { ActFamily, ActParts } from "./parts.ts";

export function createDeliverActs(parts: ActParts): ActFamily<"upload" | "deliver"> {
  const { slack, text, files, indicators, inTransfer, now } = parts;
  return {
    async upload({ act: { index }, task, signal }) {
      const upload = () => files.upload({ task, index, signal });
      const { fileId } = await (files.isFetched({ task, index })
        ? inTransfer({ task, work: upload })
        : upload());
      return { event: { type: "uploaded", index, fileId } };
    },
    async deliver({ act: { reconcile }, task, signal }) {
      const request = { slack, task, text, indicators, signal };
      return { event: { type: await deliver({ ...request, reconcile, nowMs: now() }) } };
    },
  };
}
