/** `sekisho secrets put`: writes the secrets of a stage to Secrets Manager, from the environment or the terminal. */
import { hasSecret } from "../../lambdas/shared/config/secrets.ts";
import { callerIdentity } from "../../lib/cli/aws/account.ts";
import { AwsFailure } from "../../lib/cli/aws/aws-failure.ts";
import { readSecretState, writeSecret } from "../../lib/cli/aws/secret-store.ts";
import { readSecretValues, type SecretWithState } from "../../lib/cli/aws/secret-values.ts";
import { readStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { listStageSecrets, type StageSecret } from "../../lib/cli/aws/stage-secrets.ts";
import { awsExits, defineCommand, exitCodes, flag, option, UsageError } from "../../lib/cli/command.ts";

export const secretsPut = defineCommand({
  name: "secrets put",
  args: "",
  about: `
Writes the secrets that a stage needs to AWS Secrets Manager. { "env": "NAME" } in the configuration is the secret
sekisho/STAGE/NAME there. Its value is that of the environment variable NAME, without spaces around it, or is asked for
on the terminal, without echo. A secret that exists is left as it is. { "secretsManager": "..." } is only looked for,
because someone else keeps it. With slack.install the bot token may be left out.

Each secret belongs to the account of the zone that needs it. Those of another account than the credentials'
(AWS_PROFILE) are listed: run the command again with that account's profile.`,
  options: {
    ...stageOptions,
    only: option("NAME", "the secret of this environment variable alone"),
    overwrite: flag("writes a new value to a secret that exists"),
    force: flag("takes a value that does not look like the secret"),
  },
  exits: awsExits("a secret of this account is missing"),
  async run(run) {
    const { values, positionals } = run;
    // The argument is not repeated, because it may be a secret.
    if (positionals.length > 0)
      throw new UsageError("Secrets are not arguments: set the environment variable instead.");
    const { config, named } = readStage(run, values);
    const secrets = selectSecrets(listStageSecrets({ config, ...named }), values.only);
    const { account } = await callerIdentity({ region: named.stage.verification.region, signal: run.signal });
    const ours = secrets.filter((secret) => secret.account === account);
    const others = secrets.filter((secret) => secret.account !== account).map(describeOther);
    if (ours.length === 0) {
      const what = `These credentials are of account ${account}; nothing of stage ${named.stageName} belongs there.`;
      throw new AwsFailure([what, ...others].join("\n"));
    }
    for (const text of others) run.note(text);
    const looked = await Promise.all(
      ours.map(async (secret) => ({ secret, state: await readSecretState({ ...secret, signal: run.signal }) })),
    );
    const chosen = looked.filter((one) => mayWrite(one, values.overwrite));
    const given = await readSecretValues(run, { chosen, force: values.force });
    if (given === undefined) {
      run.note("Nothing was written.");
      return exitCodes.interrupted;
    }
    for (const { secret, state, value } of given) {
      const { stageName } = named;
      const description = `Sekisho, stage ${stageName}: ${secret.purpose}`;
      await writeSecret({ ...secret, state, value, description, stageName, signal: run.signal });
      run.print(formatLine(secret, state === "absent" ? "created" : "written"));
    }
    const left = looked.filter((one) => !chosen.includes(one));
    for (const one of left) run.print(formatLine(one.secret, stateText(one)));
    const isLacking = ({ secret, state }: SecretWithState) =>
      state !== "present" && !(state === "absent" && canBeOmitted(secret));
    return left.some(isLacking) ? exitCodes.failed : exitCodes.success;
  },
});

function selectSecrets(secrets: StageSecret[], only: string | undefined): StageSecret[] {
  const named = secrets.filter(({ env, id }) => only === undefined || (env ?? id) === only);
  if (only === undefined || named.length > 0) return named;
  const known = secrets.map(({ env, id }) => env ?? id).join(", ");
  throw new UsageError(`--only: the stage needs no such secret. It needs: ${known}.`);
}

function describeOther({ id, purpose, zone, account }: StageSecret): string {
  return `${id} (${purpose}) belongs to the ${zone} account ${account}: run this again with AWS_PROFILE set to a profile of it.`;
}

/** A secret that is scheduled for deletion can only be restored. One without a variable is written by its owner. */
function mayWrite({ secret, state }: SecretWithState, overwrite: boolean): boolean {
  if (secret.env === undefined || canBeOmitted(secret)) return false;
  return state === "absent" || state === "empty" || (state === "present" && overwrite);
}

/** An optional secret is not asked for. */
function canBeOmitted({ env, optional }: StageSecret): boolean {
  return optional === true && env !== undefined && !hasSecret({ env });
}

function stateText({ secret, state }: SecretWithState): string {
  const { env, id } = secret;
  switch (state) {
    case "present":
      return env === undefined ? "is there" : "is there already, left as it is (--overwrite writes it)";
    case "deleted":
      return `is scheduled for deletion; restore it first: aws secretsmanager restore-secret --secret-id ${id}`;
    case "empty":
      return "is there, but holds no value";
    case "absent":
      return canBeOmitted(secret)
        ? "is left out: workspaces get tokens of their own at /slack/install"
        : "is missing; the configuration says that it is there";
  }
}

function formatLine({ id, purpose, account, region }: StageSecret, text: string): string {
  return `${id} (${purpose}; ${account}, ${region}): ${text}`;
}
