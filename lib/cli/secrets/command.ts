/** `sekisho secrets put`: writes the secrets of a stage to Secrets Manager, from the environment or the terminal. */
import { hasSecret } from "@sekisho/config/secrets.ts";
import { callerIdentity } from "../aws/account.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { readSecretState, writeSecret } from "../aws/secret-store.ts";
import { readSecretValues, type SecretWithState } from "../aws/secret-values.ts";
import { readStage, stageOptions } from "../aws/stage.ts";
import { listStageSecrets, type StageSecret } from "../aws/stage-secrets.ts";
import { awsExits, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";

export const secretsPut = defineCommand({
  name: "secrets put",
  args: "",
  about: `
Writes the secrets of a stage to AWS Secrets Manager, as sekisho/STAGE/NAME for { "env": "NAME" }. A value comes from the
environment variable NAME, or is asked for. An existing secret is not changed. Of { "secretsManager": "..." } it only checks
that it exists. With slack.install the bot token is optional.

It writes the secrets of the account that your credentials belong to, and lists the others. Run it again with a profile of
the other account.`,
  options: {
    ...stageOptions,
    only: option("NAME", "writes only the secret of this environment variable"),
    overwrite: flag("writes a new value to an existing secret"),
    force: flag("accepts a value that does not look like this kind of secret"),
  },
  exits: awsExits("a secret of this account is missing"),
  async run(run) {
    const { values, positionals } = run;
    // The error does not repeat the argument, because it may be a secret.
    if (positionals.length > 0)
      throw new UsageError(
        "A secret cannot be given as an argument. Set its environment variable instead.",
      );
    const { config, named } = readStage(run, values);
    const secrets = selectSecrets(listStageSecrets({ config, ...named }), values.only);
    const { account } = await callerIdentity({
      region: named.stage.verification.region,
      signal: run.signal,
    });
    const ours = secrets.filter((secret) => secret.account === account);
    const others = secrets.filter((secret) => secret.account !== account).map(describeOther);
    if (ours.length === 0) {
      const what = `These credentials belong to account ${account}, and no secret of stage ${named.stageName} does.`;
      throw new AwsFailure([what, ...others].join("\n"));
    }
    for (const text of others) run.note(text);
    const secretStates = await Promise.all(
      ours.map(async (secret) => ({
        secret,
        state: await readSecretState({ ...secret, signal: run.signal }),
      })),
    );
    const chosenSecrets = secretStates.filter((one) => mayWrite(one, values.overwrite));
    const givenValues = await readSecretValues(run, { chosen: chosenSecrets, force: values.force });
    if (givenValues === undefined) {
      run.note("Nothing was written.");
      return exitCodes.interrupted;
    }
    for (const { secret, state, value } of givenValues) {
      const { stageName } = named;
      const description = `Sekisho, stage ${stageName}: ${secret.purpose}`;
      await writeSecret({ ...secret, state, value, description, stageName, signal: run.signal });
      run.print(formatLine(secret, state === "absent" ? "created" : "written"));
    }
    const keptSecrets = secretStates.filter((one) => !chosenSecrets.includes(one));
    for (const one of keptSecrets) run.print(formatLine(one.secret, stateText(one)));
    const isLacking = ({ secret, state }: SecretWithState) =>
      state !== "present" && !(state === "absent" && canBeOmitted(secret));
    return keptSecrets.some(isLacking) ? exitCodes.failed : exitCodes.success;
  },
});

function selectSecrets(secrets: StageSecret[], only: string | undefined): StageSecret[] {
  const namedSecrets = secrets.filter(({ env, id }) => only === undefined || (env ?? id) === only);
  if (only === undefined || namedSecrets.length > 0) return namedSecrets;
  const knownIds = secrets.map(({ env, id }) => env ?? id).join(", ");
  throw new UsageError(`--only: the stage does not need this secret. It needs: ${knownIds}.`);
}

function describeOther({ id, purpose, zone, account }: StageSecret): string {
  return `${id} (${purpose}) belongs to the ${zone} account ${account}. Run this again with AWS_PROFILE set to a profile of that account.`;
}

/** False for a secret that is scheduled for deletion, which must be restored first, and for one that someone else owns. */
function mayWrite({ secret, state }: SecretWithState, overwrite: boolean): boolean {
  if (secret.env === undefined || canBeOmitted(secret)) return false;
  return state === "absent" || state === "empty" || (state === "present" && overwrite);
}

/** True for an optional secret without a value here. The command does not ask for it. */
function canBeOmitted({ env, optional }: StageSecret): boolean {
  return optional === true && env !== undefined && !hasSecret({ env });
}

function stateText({ secret, state }: SecretWithState): string {
  const { env, id } = secret;
  switch (state) {
    case "present":
      return env === undefined
        ? "exists"
        : "exists and was not changed (--overwrite writes a new value)";
    case "deleted":
      return `is scheduled for deletion; restore it first: aws secretsmanager restore-secret --secret-id ${id}`;
    case "empty":
      return "exists, but has no value";
    case "absent":
      return canBeOmitted(secret)
        ? "was left out, because each workspace gets its own token at /slack/install"
        : "is missing, although the configuration refers to it";
  }
}

function formatLine({ id, purpose, account, region }: StageSecret, text: string): string {
  return `${id} (${purpose}; ${account}, ${region}): ${text}`;
}
