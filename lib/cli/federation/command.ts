/** `sekisho federation`: lets another cloud trust the Verification role of a stage. */
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { requireVerificationAccount } from "../aws/account.ts";
import { readStage, stageOptions } from "../aws/stage.ts";
import { awsExits, type CommandRun, defineCommand, exitCodes, flag } from "../command.ts";
import { enableFederation, federationReport, printReport, readIssuer } from "./federation.ts";

const options = { ...stageOptions, json: flag("prints one JSON object") };

export const federationEnable = defineCommand({
  name: "federation enable",
  about: `
Lets AWS STS issue tokens that identify roles to other clouds (IAM's EnableOutboundWebIdentityFederation), for the
authorizers web-identity, google and azure. Run it once per account of a Verification zone; it may be repeated. It grants no
permission by itself. Prints the same as federation show.`,
  options,
  exits: awsExits(),
  async run({ values, ...run }) {
    const { config, named } = await openAccount(run, values);
    const { issuer, changed } = await enableFederation({
      region: named.stage.verification.region,
      signal: run.signal,
    });
    run.note(
      changed
        ? "The account now issues tokens for other clouds."
        : "The account already issued tokens for other clouds. Nothing changed.",
    );
    printReport({
      report: federationReport({ ...named, config, issuer }),
      json: values.json,
      print: run.print,
    });
    return exitCodes.success;
  },
});

export const federationShow = defineCommand({
  name: "federation show",
  about: `
Prints what another cloud needs to trust the Verification role of a stage: issuer, keys and role, and for each destination
with the authorizer web-identity, google or azure the configuration and commands to paste. Nothing of this is secret.`,
  options,
  exits: awsExits("the account issues no tokens yet"),
  async run({ values, ...run }) {
    const { config, named } = await openAccount(run, values);
    const issuer = await readIssuer({
      region: named.stage.verification.region,
      signal: run.signal,
    });
    if (issuer === undefined) {
      const enable = `${sekisho} federation enable --stage ${named.stageName}`;
      run.note(`The account does not issue tokens for other clouds yet. Run ${enable}`);
      return exitCodes.failed;
    }
    printReport({
      report: federationReport({ ...named, config, issuer }),
      json: values.json,
      print: run.print,
    });
    return exitCodes.success;
  },
});

/** Finds the stage, and checks that the credentials belong to the account of its Verification zone. */
async function openAccount(run: CommandRun, values: Parameters<typeof readStage>[1]) {
  const { config, named } = readStage(run, values);
  await requireVerificationAccount({ ...named, signal: run.signal });
  run.note(
    `Account ${named.stage.verification.account}, which has the Verification zone of stage ${named.stageName}.`,
  );
  return { config, named };
}
