/** A token that was rotated while it was kept: what Slack refused for the token's sake is asked for once more with a newer one. */
import { toSlackError } from "./to-slack-error.ts";

/** Slack looks at the token first, so nothing has been done where one of these comes. */
const refusals: readonly string[] = [
  "invalid_auth",
  "not_authed",
  "token_expired",
  "token_revoked",
  "account_inactive",
];

export async function withRotation<T>({
  token,
  newerToken,
  use,
}: {
  token: () => Promise<string>;
  /** Another token than `tried`, where there is one. */
  newerToken: (tried: string) => Promise<string | undefined>;
  use: (token: () => Promise<string>) => Promise<T>;
}): Promise<T> {
  let tried = "";
  const reading = async () => {
    tried = await token();
    return tried;
  };
  try {
    return await use(reading);
  } catch (thrown) {
    if (!refusals.includes(toSlackError(thrown).slackError ?? "")) throw thrown;
    const newer = await newerToken(tried).catch(() => undefined);
    if (newer === undefined) throw thrown;
    return await use(async () => newer);
  }
}
