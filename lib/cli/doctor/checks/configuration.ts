/** Can the configuration be used, and would anybody be answered by it? */
import { existsSync } from "node:fs";
import { requireAgentFile } from "../../../../bin/commands/config.ts";
import { type ConfigLocation, configDirectory, configPath } from "../../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../../lambdas/shared/config/schema.ts";
import { type Check, okFinding, toFailedFinding, warningFinding } from "../check.ts";

/** `read` throws what is to be told of a file that cannot be used. */
export function configuration({ place, read }: { place: ConfigLocation; read: () => Config }): Check {
  return {
    name: "configuration",
    async run() {
      const { routes, destinations, execution } = read();
      try {
        requireAgentFile(execution.agent, configDirectory(place));
      } catch (thrown) {
        const words = thrown instanceof Error ? thrown.message : "The agent's file cannot be found.";
        return toFailedFinding(
          words,
          "Paths count from the configuration's folder: correct it, or put the file there.",
        );
      }
      if (routes.length === 0) {
        const remedy = 'Add one, such as "routes": [{ "destination": "local" }].';
        return warningFinding("There is no route: whoever asks is told that no agent is set up.", remedy);
      }
      const path = configPath(place);
      const source = existsSync(path) ? path : "no file: every default holds";
      const names = Object.keys(destinations).join(", ") || "none";
      const leading = [...new Set(routes.flatMap(({ destination }) => destination))].join(", ");
      return okFinding(`${source}; destinations: ${names}; routes to ${leading}.`);
    },
  };
}

// May anybody ask at all? An empty allowlist means nobody, which looks from Slack as if nothing worked.

/** `kept` resolves to how many rules there are beside the configuration's; rejects with words for a person. */
export function allowlistCheck({
  configured,
  kept,
  stageName,
}: {
  configured: number;
  kept: () => Promise<number>;
  /** Undefined on one machine. */
  stageName?: string;
}): Check {
  return {
    name: "who may ask",
    async run() {
      const added = await kept();
      if (configured + added > 0)
        return okFinding(`${configured} rules of the configuration, ${added} that were added.`);
      const words = `npx sekisho allow add --team T012AB3CD${stageName === undefined ? "" : ` --stage ${stageName}`}`;
      return warningFinding("Nobody: there is no rule.", `${words}, with your workspace's id.`);
    },
  };
}
