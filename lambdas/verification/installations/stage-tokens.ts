/** The tokens of a stage on AWS: secrets of Secrets Manager. */
import type { AwsSurroundings } from "../../shared/aws/credentials.ts";
import { AwsCallError } from "../../shared/aws/json-call.ts";
import type { ReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import type { Config } from "../../shared/config/schema.ts";
import { createManagedInstallations } from "./managed-installations.ts";
import { createTeamOf } from "./team-of.ts";
import { createTokens, type Tokens } from "./tokens.ts";

/**
 * Where there is an installation flow, a stage may do without a bot token of its own. The second: its deletion was asked for.
 * That access is denied says nothing: it is denied for a while after a role was changed.
 */
const noSecret: readonly string[] = ["ResourceNotFoundException", "InvalidRequestException"];

/** `installationsPrefix` is undefined where the app is installed in one workspace only, by hand. */
export function createStageTokens({
  slack,
  aws,
  readManagedSecret,
  installationsPrefix,
  apiUrl,
}: {
  slack: Pick<Config["slack"], "botToken">;
  aws: AwsSurroundings;
  readManagedSecret: ReadManagedSecret;
  installationsPrefix: string | undefined;
  apiUrl: string;
}): Tokens {
  if (!("secretsManager" in slack.botToken)) throw new Error("On AWS the bot token is a secret of Secrets Manager.");
  const id = slack.botToken.secretsManager;
  const botToken = () => readManagedSecret({ id });
  if (installationsPrefix === undefined) return createTokens({ botToken });
  return createTokens({
    botToken: () =>
      botToken().catch((thrown: unknown) => {
        if (thrown instanceof AwsCallError && noSecret.includes(thrown.name)) return undefined;
        throw thrown;
      }),
    installations: createManagedInstallations({ prefix: installationsPrefix, aws }),
    teamOf: createTeamOf({ apiUrl }),
  });
}
