/** Is a secret that the stage needs in Secrets Manager? Its value is not read. */
import { type SecretState, stateOfSecret } from "../../aws/secret-store.ts";
import type { StageSecret } from "../../aws/stage-secrets.ts";
import { type Check, type Finding, failed, ok, skipped } from "../check.ts";

export function stageSecret({
  secret,
  caller,
  stageName,
}: {
  secret: StageSecret;
  /** Of the credentials at hand. */
  caller: () => Promise<{ account: string }>;
  stageName: string;
}): Check {
  return {
    name: `secret ${secret.env ?? secret.id}`,
    async run({ signal }) {
      const { id, purpose, zone } = secret;
      if ((await caller()).account !== secret.account) {
        const profile = `AWS_PROFILE of ${secret.account} and npx sekisho secrets put --stage ${stageName} tell of it.`;
        return skipped(`${id} (${purpose}) belongs to the ${zone} account: ${profile}`);
      }
      return findingOf({ secret, stageName, state: await stateOfSecret({ ...secret, signal }) });
    },
  };
}

function findingOf({
  secret: { id, purpose, env, optional },
  stageName,
  state,
}: {
  secret: StageSecret;
  stageName: string;
  state: SecretState;
}): Finding {
  const put = env === undefined ? "Whoever keeps it must write it." : `npx sekisho secrets put --stage ${stageName}`;
  switch (state) {
    case "present":
      return ok(`${id} (${purpose}) is there.`);
    case "deleted":
      return failed(`${id} is scheduled for deletion.`, `aws secretsmanager restore-secret --secret-id ${id}`);
    case "empty":
      return failed(`${id} is there, but holds no value.`, put);
    case "absent":
      return optional === true
        ? ok(`${id} is left out: workspaces get tokens of their own.`)
        : failed(`${id} (${purpose}) is missing.`, put);
  }
}
