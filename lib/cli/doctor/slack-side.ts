/** What the checks of Slack share: the secrets, and the one call by which the bot token, its scopes and the clock are known. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { findExpectedShape } from "../aws/secret-shape.ts";
import { askSlack, type SlackAnswer } from "./ask-slack.ts";
import { once } from "./check.ts";
import { readSecretInHand, type SecretInHand } from "./secrets-in-hand.ts";

/** `unreadable`: the deployed worker may not read it. `unfit`: it is no bot token, and so nobody is asked with it. */
export type BotIdentity =
  | { answer: SlackAnswer }
  | { missing: string }
  | { unreadable: string }
  | { unfit: string }
  | { unreachable: true };

export type SlackSide = {
  config: Config;
  secret(reference: SecretReference): Promise<SecretInHand>;
  identity(): Promise<BotIdentity>;
};

/** The bot token of this machine is tried, unless `identity` says what is known. `signal` ends the shared call. */
export function openSlackSide({
  config,
  readSecret,
  identity,
  signal,
  now = Date.now,
}: {
  config: Config;
  readSecret: (reference: SecretReference) => Promise<string>;
  identity?: () => Promise<BotIdentity>;
  signal: AbortSignal;
  now?: () => number;
}): SlackSide {
  const { botToken, apiUrl } = config.slack;
  const secret = (reference: SecretReference) => readSecretInHand({ reference, readSecret });
  async function ask(): Promise<BotIdentity> {
    const token = await secret(botToken);
    if ("missing" in token) return token;
    const expected = findExpectedShape({ use: "bot token", value: token.value });
    // What is no token may be another secret, and is sent nowhere.
    if (expected !== undefined) return { unfit: expected };
    if (!isHeaderSafe(token.value)) return { unfit: "a text without blanks" };
    const answer = await askSlack({ method: "auth.test", token: token.value, apiUrl, signal, now });
    return answer === undefined ? { unreachable: true } : { answer };
  }
  return { config, secret, identity: identity ?? once(ask) };
}

/** The token stands in a header. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}
