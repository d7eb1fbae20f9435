/** `sekisho federation`: shows what another cloud must know to trust the Verification role, and lets AWS issue its tokens. */
import { parseArgs } from "node:util";
import { requireVerificationAccount } from "../../lib/cli/aws/account.ts";
import { enableFederation, federationReport, printReport, readIssuer } from "../../lib/cli/aws/federation.ts";
import { readStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { type Command, type CommandRun, exitCodes } from "./command.ts";

export const federationShow: Command = {
  help: `
sekisho federation show [--stage NAME] [--json] [--config FILE]

Prints the issuer of the tokens that AWS STS gives the Verification role of a stage, where its keys are, the role, and
what the other side of each destination with the authorizer web-identity, google or azure must know: blocks and commands
to paste. Nothing of it is secret.

  --stage NAME   of the configuration's stages; without it the first
  --json         one JSON object
  --config FILE  instead of ./sekisho.config.json

Exit code: 0; 1 the account issues no tokens yet, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { signal, print, note } = run;
    const { config, named, json } = await openAccount(run);
    const { region } = named.stage.verification;
    const issuer = await readIssuer({ region, signal });
    if (issuer === undefined) {
      note(`It does not issue tokens for others yet: npx sekisho federation enable --stage ${named.stageName}`);
      return exitCodes.failed;
    }
    printReport({ report: federationReport({ ...named, config, issuer }), json, print });
    return exitCodes.success;
  },
};

/** Finds the stage and checks that the credentials are of its Verification account. */
async function openAccount(run: CommandRun) {
  const { words, signal, note } = run;
  const options = { ...stageOptions, json: { type: "boolean", default: false } } as const;
  const { values } = parseArgs({ args: words, options });
  const { config, named } = readStage(run, values);
  await requireVerificationAccount({ ...named, signal });
  note(`Account ${named.stage.verification.account}, of the Verification zone of stage ${named.stageName}.`);
  return { config, named, json: values.json };
}

export const federationEnable: Command = {
  help: `
sekisho federation enable [--stage NAME] [--json] [--config FILE]

Lets AWS STS issue tokens by which others know the roles of the account of a stage's Verification zone
(EnableOutboundWebIdentityFederation of IAM; CloudFormation cannot do that). The destinations with the authorizer
web-identity, google or azure need it. It is done once per account, gives nobody a permission by itself, and may be
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
    note(changed ? "It now issues tokens for others." : "It already issued tokens for others; nothing changed.");
    printReport({ report: federationReport({ ...named, config, issuer }), json, print });
    return exitCodes.success;
  },
};
