/** `sekisho secrets put`: carries the secrets of a stage to Secrets Manager, from the environment or the terminal. */
import { parseArgs } from "node:util";
import { hasSecret } from "../../lambdas/shared/config/secrets.ts";
import { callerAccount } from "../../lib/cli/aws/account.ts";
import { AwsFailure } from "../../lib/cli/aws/aws-failure.ts";
import { createSecret, putSecretValue, readSecretState, type SecretState } from "../../lib/cli/aws/secret-store.ts";
import { readSecretValues, type SecretWithState } from "../../lib/cli/aws/secret-values.ts";
import { type NamedStage, readStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { listStageSecrets, type StageSecret } from "../../lib/cli/aws/stage-secrets.ts";
import { type Command, type CommandRun, exitCodes, UsageError } from "./command.ts";

export const secretsPut: Command = {
  help: `
sekisho secrets put [--stage NAME] [--only NAME] [--overwrite] [--force] [--config FILE]

Writes the secrets that a stage needs to AWS Secrets Manager. { "env": "NAME" } in the configuration is the
secret sekisho/STAGE/NAME there; its value is that of the environment variable NAME, without spaces around it,
or else is asked for on the terminal, without echo. A secret that exists is left as it is.
{ "secretsManager": "..." } is only looked for: someone else keeps it. With slack.install the bot token may be left out.

Each secret belongs to the account of the zone that needs it. Those of the other account than the credentials'
(AWS_PROFILE) are listed: run it once more with that account's profile.

  --stage NAME   of the configuration's stages; without it the first
  --only NAME    one environment variable's secret alone
  --overwrite    writes a new value to a secret that exists
  --force        takes a value that does not look like the secret that it is to be
  --config FILE  instead of ./sekisho.config.json

Exit code: 0 every secret of this account is there; 1 one is not, or AWS refused; 2 bad usage; 3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: {
        ...stageOptions,
        only: { type: "string" },
        overwrite: { type: "boolean", default: false },
        force: { type: "boolean", default: false },
      },
    });
    // Not repeated: it may be a secret, and arguments can be read by every process of the machine.
    if (positionals.length > 0) throw new UsageError("A secret is no argument: set its environment variable instead.");
    const { config, named } = readStage(run, values);
    const secrets = selectSecrets(listStageSecrets({ config, ...named }), values.only);
    const account = await callerAccount({ region: named.stage.verification.region, signal: run.signal });
    const [here, elsewhere] = split(secrets, account);
    noteOtherAccount(run, { here, elsewhere, account, named });
    const looked = await Promise.all(
      here.map(async (secret) => ({ secret, state: await readSecretState({ ...secret, signal: run.signal }) })),
    );
    const chosen = looked.filter(({ secret, state }) => mayWrite(secret, state, values.overwrite));
    const given = await readSecretValues(run, { chosen, force: values.force });
    if (given === undefined) {
      run.note("Nothing was written.");
      return exitCodes.interrupted;
    }
    for (const { secret, state, value } of given) await write(run, { secret, state, value, named });
    const left = looked.filter((one) => !chosen.includes(one));
    const isLacking = ({ secret, state }: SecretWithState) =>
      state !== "present" && !(state === "absent" && canBeOmitted(secret));
    for (const { secret, state } of left) run.print(line(secret, stateText(secret, state)));
    return left.some(isLacking) ? exitCodes.failed : exitCodes.success;
  },
};

function selectSecrets(secrets: StageSecret[], only: string | undefined): StageSecret[] {
  if (only === undefined) return secrets;
  const named = secrets.filter(({ env, id }) => (env ?? id) === only);
  if (named.length > 0) return named;
  const known = secrets.map(({ env, id }) => env ?? id).join(", ");
  throw new UsageError(`--only: the stage needs no such secret. It needs: ${known}.`);
}

function split(secrets: StageSecret[], account: string): [StageSecret[], StageSecret[]] {
  return [
    secrets.filter((secret) => secret.account === account),
    secrets.filter((secret) => secret.account !== account),
  ];
}

function noteOtherAccount(
  { note }: CommandRun,
  {
    here,
    elsewhere,
    account,
    named,
  }: { here: StageSecret[]; elsewhere: StageSecret[]; account: string; named: NamedStage },
): void {
  const lines = elsewhere.map(
    (secret) =>
      `${secret.id} (${secret.purpose}) belongs to the ${secret.zone} account ${secret.account}: run this again with AWS_PROFILE set to a profile of it.`,
  );
  if (here.length > 0) for (const text of lines) note(text);
  else
    throw new AwsFailure(
      [
        `These credentials are of account ${account}; nothing of stage ${named.stageName} belongs there.`,
        ...lines,
      ].join("\n"),
    );
}

/** One that is scheduled for deletion can only be restored, and one that someone else keeps is theirs to write. */
function mayWrite(secret: StageSecret, state: SecretState, overwrite: boolean): boolean {
  if (secret.env === undefined || canBeOmitted(secret)) return false;
  return state === "absent" || state === "empty" || (state === "present" && overwrite);
}

/** Nobody is asked for what can be done without. */
function canBeOmitted({ env, optional }: StageSecret): boolean {
  return optional === true && env !== undefined && !hasSecret({ env });
}

async function write(
  { print, signal }: CommandRun,
  { secret, state, value, named }: SecretWithState & { value: string; named: NamedStage },
): Promise<void> {
  const { id, region, purpose } = secret;
  const { stageName } = named;
  if (state === "absent") {
    const description = `Sekisho, stage ${stageName}: ${purpose}`;
    await createSecret({ id, region, signal, value, description, stageName });
    print(line(secret, "created"));
  } else {
    await putSecretValue({ id, region, signal, value });
    print(line(secret, "written"));
  }
}

function stateText(secret: StageSecret, state: SecretState): string {
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

function line({ id, purpose, account, region }: StageSecret, words: string): string {
  return `${id} (${purpose}; ${account}, ${region}): ${words}`;
}
