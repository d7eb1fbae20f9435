/** `sekisho federation show`: what another cloud must be told to trust the Verification role. */
import { parseArgs } from "node:util";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import { requireVerificationAccount } from "../aws/account.ts";
import { issuerOf } from "../aws/federation.ts";
import { federationReport, printReport } from "../aws/federation-report.ts";
import { chooseStage } from "../aws/stage.ts";
import { type Command, exitCodes } from "./command.ts";

export const federationOptions = {
  stage: { type: "string" },
  json: { type: "boolean", default: false },
  config: { type: "string" },
} as const;

export const federationShow: Command = {
  help: `
sekisho federation show [--stage NAME] [--json] [--config FILE]

Prints the issuer of the tokens that AWS STS gives the Verification role of a stage, where its keys are, the role, and
for each destination with the authorizer web-identity, google or azure what the other side must be told: blocks and
commands to paste. Nothing of it is secret.

  --stage NAME   of the configuration's stages; without it the first
  --json         one JSON object
  --config FILE  instead of ./sekisho.config.json

Exit code: 0; 1 the account issues no tokens yet, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({ args: words, options: federationOptions });
    const config = loadConfig({ directory, file: values.config });
    const named = chooseStage(config, values.stage);
    const { account, region } = named.stage.verification;
    await requireVerificationAccount({ ...named, signal });
    note(`Account ${account}, of the Verification zone of stage ${named.stageName}.`);
    const issuer = await issuerOf({ region, signal });
    if (issuer === undefined) {
      note(`It issues no tokens for others yet: npx sekisho federation enable --stage ${named.stageName}`);
      return exitCodes.failed;
    }
    printReport({ report: federationReport({ ...named, config, issuer }), json: values.json, print });
    return exitCodes.success;
  },
};
