/** Is the entry for Slack's events there, and does it refuse what nobody signed? */
import { askUnsigned } from "../ask-entry.ts";
import { type Check, failedFinding, okFinding, skippedFinding } from "../check.ts";
import type { Entry } from "../entry-under-test.ts";

export function entry({ open }: { open: () => Promise<Entry | { missing: string }> }): Check {
  return {
    name: "entry",
    async run({ signal }) {
      const opened = await open();
      if ("missing" in opened) return skippedFinding(opened.missing);
      const { url, where, lookAtLog, isGone } = opened;
      const answer = await askUnsigned({ url, signal });
      if (answer === undefined) return failedFinding(`Nothing answers at ${url}.`, isGone);
      const { status } = answer;
      if (status === 401) return okFinding(`${where} refuses what is unsigned.`);
      if (status === 200) {
        const remedy = "Take it off the network: whatever answers there is no entry of Sekisho's.";
        return failedFinding(`${url} takes what nobody signed.`, remedy);
      }
      if (status === 500 && opened.mayLackSecret)
        return okFinding(`${where} takes nothing over HTTP, as with Socket Mode.`);
      if (status === 500) return failedFinding(`${where} has no signing secret (HTTP 500).`, opened.giveSecret);
      return failedFinding(`${url} answers HTTP ${status}, and not 401, to what is unsigned.`, lookAtLog);
    },
  };
}
