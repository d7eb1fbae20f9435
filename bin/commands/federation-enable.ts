/** `sekisho federation enable`: lets an AWS account issue tokens for others. */
import { parseArgs } from "node:util";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import { requireVerificationAccount } from "../aws/account.ts";
import { enableFederation } from "../aws/federation.ts";
import { federationReport, printReport } from "../aws/federation-report.ts";
import { chooseStage } from "../aws/stage.ts";
import { type Command, exitCodes } from "./command.ts";
import { federationOptions } from "./federation-show.ts";

export const federationEnable: Command = {
  help: `
sekisho federation enable [--stage NAME] [--json] [--config FILE]

Switches on, for the account of a stage's Verification zone, that AWS STS issues tokens by which others know its roles
(EnableOutboundWebIdentityFederation of IAM; CloudFormation cannot do that). The destinations with the authorizer
web-identity, google or azure need it. It is done once an account, gives nobody a permission by itself, and may be
repeated. Then prints what sekisho federation show prints.

  --stage NAME   of the configuration's stages; without it the first
  --json         one JSON object
  --config FILE  instead of ./sekisho.config.json

Exit code: 0 it is on; 1 AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({ args: words, options: federationOptions });
    const config = loadConfig({ directory, file: values.config });
    const named = chooseStage(config, values.stage);
    const { account, region } = named.stage.verification;
    await requireVerificationAccount({ ...named, signal });
    note(`Account ${account}, of the Verification zone of stage ${named.stageName}.`);
    const { issuer, changed } = await enableFederation({ region, signal });
    note(changed ? "Now it issues tokens for others." : "It issued tokens for others already; nothing changed.");
    printReport({ report: federationReport({ ...named, config, issuer }), json: values.json, print });
    return exitCodes.success;
  },
};
