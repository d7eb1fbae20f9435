/** `sekisho config check`: is the configuration one that can be used? */
import { parseArgs } from "node:util";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import type { Config, SecretReference } from "../../lambdas/shared/config/schema.ts";
import { hasSecret, nameOfSecret } from "../../lambdas/shared/config/secrets.ts";
import { type Command, exitCodes } from "./command.ts";
import { secretsOfAgent, secretsOfAuthenticator, secretsOfDestination } from "./required-secrets.ts";

export const configCheck: Command = {
  help: `
sekisho config check [--config FILE]

Checks sekisho.config.json (or FILE) and lists every problem with its place.
Exit code 0: it can be used; 2: it cannot.
`,
  async run({ words, directory, print, note }) {
    const { values } = parseArgs({ args: words, options: { config: { type: "string" } } });
    const config = loadConfig({ directory, file: values.config });
    const routes = config.routes.map(({ destination }) => destination).join(", ") || "nowhere";
    print(
      `The configuration is fine: destinations ${Object.keys(config.destinations).join(", ")}; routes to ${routes}.`,
    );
    for (const [name, { verification, execution }] of Object.entries(config.stages))
      print(
        `Stage ${name}: Verification in ${verification.account}, ${verification.region}; Execution ${execution.kind}.`,
      );
    if (config.routes.length === 0) note("There is no route: whoever asks is told that no agent is set up.");
    if (config.allowlist.length === 0) note("The allowlist is empty: in a real workspace nobody may ask.");
    for (const secret of unsetSecrets(config))
      note(`Note: the environment variable ${nameOfSecret(secret)} is not set here.`);
    return exitCodes.success;
  },
};

/** The references that cannot be resolved here; that is no problem of the file. */
function unsetSecrets({ slack, destinations, execution: { authenticator, agent } }: Config): SecretReference[] {
  const tokens = Object.values(destinations).flatMap(secretsOfDestination);
  const all = [
    slack.signingSecret,
    slack.botToken,
    ...tokens,
    ...secretsOfAuthenticator(authenticator),
    ...secretsOfAgent(agent),
  ];
  return all.filter((secret) => !hasSecret(secret));
}
