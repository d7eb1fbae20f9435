/** `sekisho config push`: brings routes, and what of destinations needs no permission, to a stage without a deploy. */
import { parseArgs } from "node:util";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import { pushLiveSettings } from "../aws/push-live-settings.ts";
import { chooseStage } from "../aws/stage.ts";
import type { Command } from "./command.ts";

export const configPush: Command = {
  help: `
sekisho config push [--stage NAME] [--dry-run] [--config FILE]

Brings the routes of the configuration, and of its destinations deadlineMs, concurrency, longPollMs, dialect,
idempotent, maxResponseBytes and (unless calls are permitted by address, as with sigv4, or get the bot token) url, to a deployed stage.
The workers see it within a minute; no deploy is needed. Everything else of the file takes effect with the next
deploy. A destination that is new, or is another one in what needs permissions, "needs a deploy": where a route leads
there, or where one of those fields is another than was pushed before, nothing is written; else it is left out.

  --stage NAME   of the configuration's stages; without it the first
  --dry-run      only shows what would change
  --config FILE  instead of ./sekisho.config.json

Exit code: 0 done or nothing to do; 1 needs a deploy, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({
      args: words,
      options: { stage: { type: "string" }, "dry-run": { type: "boolean" }, config: { type: "string" } },
    });
    const config = loadConfig({ directory, file: values.config });
    const named = chooseStage(config, values.stage);
    return pushLiveSettings({ ...named, config, dryRun: values["dry-run"] ?? false, signal, print, note });
  },
};
