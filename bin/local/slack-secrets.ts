/** Which secrets of Slack's the Verification zone cannot do without on one machine. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { hasSecret } from "../../lambdas/shared/config/secret-in-hand.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";

/** The app token stands for the signing secret; with an installation flow every workspace gets its bot token by that. */
export function neededSecrets({ appToken, signingSecret, botToken, install }: Config["slack"]): SecretReference[] {
  return [...(hasSecret(appToken) ? [] : [signingSecret]), install === undefined ? botToken : install.clientSecret];
}

/** One that is set says that the real Slack is meant. */
export function isAnySet({ appToken, signingSecret, botToken, install }: Config["slack"]): boolean {
  const all = [appToken, signingSecret, botToken, ...(install === undefined ? [] : [install.clientSecret])];
  return all.some(hasSecret);
}
