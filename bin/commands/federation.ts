/** `sekisho federation`: lets another cloud trust the Verification role of a stage. */
import { requireVerificationAccount } from "../../lib/cli/aws/account.ts";
import { enableFederation, federationReport, printReport, readIssuer } from "../../lib/cli/aws/federation.ts";
import { readStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { awsExits, type CommandRun, defineCommand, exitCodes, flag } from "../../lib/cli/command.ts";

const options = { ...stageOptions, json: flag("prints one JSON object") };

export const federationEnable = defineCommand({
  name: "federation enable",
  about: `
Lets AWS STS issue tokens that identify roles to others, for the account of a stage's Verification zone
(EnableOutboundWebIdentityFederation of IAM; CloudFormation cannot do that). Destinations with the authorizer
web-identity, google or azure need it. It is done once per account, gives nobody a permission by itself, and may be
repeated. Then it prints what sekisho federation show prints.`,
  options,
  exits: awsExits(),
  async run({ values, ...run }) {
    const { config, named } = await openAccount(run, values);
    const { issuer, changed } = await enableFederation({ region: named.stage.verification.region, signal: run.signal });
    run.note(changed ? "It now issues tokens for others." : "It already issued tokens for others; nothing changed.");
    printReport({ report: federationReport({ ...named, config, issuer }), json: values.json, print: run.print });
    return exitCodes.success;
  },
});

export const federationShow = defineCommand({
  name: "federation show",
  about: `
Prints what the other side needs to know: the issuer of the tokens that AWS STS gives the Verification role of a stage,
where its keys are, the role, and for each destination with the authorizer web-identity, google or azure the blocks and
commands to paste. None of it is secret.`,
  options,
  exits: awsExits("the account issues no tokens yet"),
  async run({ values, ...run }) {
    const { config, named } = await openAccount(run, values);
    const issuer = await readIssuer({ region: named.stage.verification.region, signal: run.signal });
    if (issuer === undefined) {
      run.note(`It does not issue tokens for others yet: npx sekisho federation enable --stage ${named.stageName}`);
      return exitCodes.failed;
    }
    printReport({ report: federationReport({ ...named, config, issuer }), json: values.json, print: run.print });
    return exitCodes.success;
  },
});

/** Finds the stage, checks that the credentials belong to the account of its Verification zone, and names that account. */
async function openAccount(run: CommandRun, values: Parameters<typeof readStage>[1]) {
  const { config, named } = readStage(run, values);
  await requireVerificationAccount({ ...named, signal: run.signal });
  run.note(`Account ${named.stage.verification.account}, of the Verification zone of stage ${named.stageName}.`);
  return { config, named };
}
