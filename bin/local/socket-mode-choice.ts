/** Which way the real Slack is met on one machine: over Socket Mode where there is an app token, else over HTTP. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { hasSecret, nameOfSecret } from "../../lambdas/shared/config/secret-in-hand.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { installText, realSlackText, socketModeText } from "./real-slack-text.ts";
import { neededSecrets } from "./slack-secrets.ts";
import { askWhoWeAre } from "./socket-mode-identity.ts";

type Secret = () => Promise<string>;

export type RealSlack = {
  /** For the Verification zone. */
  access: {
    botToken: () => Promise<string | undefined>;
    signingSecret: Secret | undefined;
    appToken: Secret | undefined;
  };
  /** For the person who started it, once it runs. */
  text(running: { port: number }): string;
};

/** The first secret without which Slack cannot be met. */
export function missingSecret({ slack }: Config): string | undefined {
  const missing = neededSecrets(slack).find((reference) => !hasSecret(reference));
  return missing && nameOfSecret(missing);
}

/** Over Socket Mode the bot token is tried at once; rejects with words for a person. */
export async function openRealSlack({ config, signal }: { config: Config; signal: AbortSignal }): Promise<RealSlack> {
  const { appToken, signingSecret, botToken, apiUrl } = config.slack;
  const reader = (reference: SecretReference): Secret | undefined =>
    hasSecret(reference) ? () => readSecret(reference) : undefined;
  const readBotToken = reader(botToken);
  const access = {
    botToken: async () => readBotToken?.(),
    signingSecret: reader(signingSecret),
    appToken: reader(appToken),
  };
  if (access.appToken === undefined) return { access, text: ({ port }) => realSlackText({ port, config }) };
  if (readBotToken === undefined) return { access, text: installText };
  const name = nameOfSecret(botToken);
  const identity = await askWhoWeAre({ botToken: readBotToken, apiUrl, name, signal });
  return { access, text: () => socketModeText({ identity, config }) };
}
