/** The bot token with which operators look up names: this machine's, or the stage's where their credentials may read it. */
import { hasSecret, readSecret } from "@sekisho/config/secrets.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { findExpectedShape } from "../aws/secret-shape.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import type { SlackConnection } from "./slack-names.ts";

/** The result rejects where there is no bot token. A value of another form may be another secret, and is sent nowhere. */
export function slackConnectionOf({ at, config: readConfig }: Pick<OpenZone, "at" | "config">) {
  return async (): Promise<SlackConnection> => {
    const config = readConfig();
    const token = await ("file" in at ? localToken(config.slack.botToken) : stageToken());
    if (findExpectedShape({ use: "bot token", value: token }) !== undefined)
      throw new Error("It is no bot token.");
    return { token, apiUrl: config.slack.apiUrl };

    async function stageToken(): Promise<string> {
      if ("file" in at) throw new Error("It is no stage.");
      const { createReadOperatorSecret } = await import("@sekisho/local/own-aws.ts");
      const { botToken } = createStageConfig({ config, stageName: at.stageName }).slack;
      return createReadOperatorSecret({ region: at.stage.verification.region })(botToken);
    }
  };
}

async function localToken(reference: Parameters<typeof readSecret>[0]): Promise<string> {
  if (!hasSecret(reference)) throw new Error("The bot token is not set.");
  return (await readSecret(reference)).trim();
}
