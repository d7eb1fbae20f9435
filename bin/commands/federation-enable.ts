/** `sekisho federation enable`: lets an AWS account issue tokens for others. */
import { enableFederation } from "../aws/federation.ts";
import { federationReport, printReport } from "../aws/federation-report.ts";
import { type Command, exitCodes } from "./command.ts";
import { openAccount } from "./federation-show.ts";

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
  async run(run) {
    const { signal, print, note } = run;
    const { config, named, json } = await openAccount(run);
    const { region } = named.stage.verification;
    const { issuer, changed } = await enableFederation({ region, signal });
    note(changed ? "Now it issues tokens for others." : "It issued tokens for others already; nothing changed.");
    printReport({ report: federationReport({ ...named, config, issuer }), json, print });
    return exitCodes.success;
  },
};
