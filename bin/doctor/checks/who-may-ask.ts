/** May anybody ask at all? An empty allowlist means nobody, which looks from Slack as if nothing worked. */
import { type Check, ok, warning } from "../check.ts";

/** `kept` resolves to how many rules there are beside the configuration's; rejects with words for a person. */
export function whoMayAsk({
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
      if (configured + added > 0) return ok(`${configured} rules of the configuration, ${added} that were added.`);
      const words = `npx sekisho allow add --team T012AB3CD${stageName === undefined ? "" : ` --stage ${stageName}`}`;
      return warning("Nobody: there is no rule.", `${words}, with your workspace's id.`);
    },
  };
}
