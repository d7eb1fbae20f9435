/** Are the secrets there that the configuration refers to? Names only, never values. */

import { randomUUID } from "node:crypto";
import { formatSecretName } from "../../../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../../../lambdas/shared/config/values.ts";
import { findExpectedShape } from "../../aws/secret-shape.ts";
import { readSecretState, type SecretState } from "../../aws/secret-store.ts";
import type { StageSecret } from "../../aws/stage-secrets.ts";
import { askSigned, askStale } from "../ask-entry.ts";
import { type Check, type Finding, failedFinding, okFinding, skippedFinding, warningFinding } from "../check.ts";
import type { Entry } from "../entry-under-test.ts";
import { readSecretInHand } from "../secrets-in-hand.ts";
import type { SlackSide } from "../slack-side.ts";

export function secretsHere({
  references,
  readSecret,
}: {
  /** Without those that may be missing. */
  references: readonly SecretReference[];
  readSecret: (reference: SecretReference) => Promise<string>;
}): Check {
  const named = new Map(references.map((reference) => [formatSecretName(reference), reference]));
  return {
    name: "secrets",
    async run() {
      if (named.size === 0) return okFinding("The configuration needs none here.");
      const looked = await Promise.all(
        [...named.values()].map((reference) => readSecretInHand({ reference, readSecret })),
      );
      const missing = looked.flatMap((secret) => ("missing" in secret ? [secret.missing] : []));
      if (missing.length === 0) return okFinding(`All are there: ${[...named.keys()].join(", ")}.`);
      const remedy = "Set each variable where sekisho is started; for Secrets Manager, AWS_PROFILE and AWS_REGION.";
      return failedFinding(missing.join(" "), remedy);
    },
  };
}

// Is a secret that the stage needs in Secrets Manager? Its value is not read.

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
        return skippedFinding(`${id} (${purpose}) belongs to the ${zone} account: ${profile}`);
      }
      return findingOf({ secret, stageName, state: await readSecretState({ ...secret, signal }) });
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
      return okFinding(`${id} (${purpose}) is there.`);
    case "deleted":
      return failedFinding(`${id} is scheduled for deletion.`, `aws secretsmanager restore-secret --secret-id ${id}`);
    case "empty":
      return failedFinding(`${id} is there, but holds no value.`, put);
    case "absent":
      return optional === true
        ? okFinding(`${id} is left out: workspaces get tokens of their own.`)
        : failedFinding(`${id} (${purpose}) is missing.`, put);
  }
}

// Is an event that is signed with the signing secret taken by the entry, and refused when it is old?

const whereFrom = 'It stands under "Basic Information", "App Credentials" of the app.';

export function signingSecret({
  slack,
  open,
  now = Date.now,
  newChallenge = randomUUID,
}: {
  slack: SlackSide;
  open: () => Promise<Entry | { missing: string }>;
  now?: () => number;
  newChallenge?: () => string;
}): Check {
  const reference = slack.config.slack.signingSecret;
  const name = formatSecretName(reference);
  return {
    name: "signing secret",
    async run({ signal }) {
      const secret = await slack.secret(reference);
      if ("missing" in secret) return skippedFinding(secret.missing);
      const opened = await open();
      if ("missing" in opened) return skippedFinding(opened.missing);
      const { url } = opened;
      const challenge = newChallenge();
      const given = { url, signingSecret: secret.value, signal, now };
      const [signed, stale] = await Promise.all([askSigned({ ...given, challenge }), askStale(given)]);
      if (signed === undefined || stale === undefined)
        return failedFinding(`Nothing answers at ${url}.`, opened.isGone);
      const refusal = refusalOf({ status: signed.status, isRight: signed.body === challenge, name, entry: opened });
      if (refusal !== undefined) return refusal;
      if (stale.status !== 401) {
        const remedy = `${opened.lookAtLog} Is its clock right?`;
        return failedFinding(`${opened.where} takes what was signed ten minutes ago (HTTP ${stale.status}).`, remedy);
      }
      const expected = findExpectedShape({ use: "signing secret", value: secret.value });
      if (expected === undefined)
        return okFinding(`${opened.where} takes what is signed with ${name}, unless it is old.`);
      const what = `${opened.where} takes what is signed with ${name}, but Slack's are ${expected}.`;
      return warningFinding(what, `Is it the app's own? ${whereFrom}`);
    },
  };
}

/** Undefined where the signed event got the answer that Slack wants. */
function refusalOf({
  status,
  isRight,
  name,
  entry,
}: {
  status: number;
  isRight: boolean;
  name: string;
  entry: Entry;
}): Finding | undefined {
  if (status === 200 && isRight) return undefined;
  const { url, where, giveSecret, lookAtLog } = entry;
  if (status === 401) {
    const remedy = `${giveSecret} ${whereFrom} If it is the right one: is this machine's clock?`;
    return failedFinding(`${where} does not take what is signed with ${name}.`, remedy);
  }
  if (status === 500) return failedFinding(`${where} has no signing secret (HTTP 500).`, giveSecret);
  if (status === 200) return failedFinding(`What answers at ${url} does not know Slack's events.`, lookAtLog);
  return failedFinding(`${where} answers HTTP ${status} to a signed event.`, lookAtLog);
}
