/** Lists the secrets that a stage needs, with the account that each belongs to and its name there. */

import { listAgents } from "@sekisho/config/agent-list.ts";
import {
  type AuthorizerSecretUse,
  listAuthorizerSecrets,
} from "@sekisho/config/authorizer-needs.ts";
import { isOwnExecution, resolveAuthorizerConfig } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import {
  findExecutionTarget,
  formatManagedSecretName,
  isA2aEndpoint,
} from "@sekisho/config/stage-config.ts";
import type { Stage } from "@sekisho/config/stage-schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import {
  listCardSecrets,
  listSecretsOfAgent,
} from "@sekisho/execution/config/execution-secrets.ts";
import type { NamedStage } from "./stage.ts";

export type SecretUse =
  | "signing secret"
  | "bot token"
  | "Slack client secret"
  | "API key"
  | "collector header"
  | AuthorizerSecretUse;

export type StageSecret = {
  zone: "Verification" | "Execution";
  account: string;
  region: string;
  use: SecretUse;
  /** Its purpose, as text for a person. */
  purpose: string;
  /** Its name or ARN in Secrets Manager. */
  id: string;
  /** The variable whose value the command line writes. Undefined where someone else keeps the secret. */
  env: string | undefined;
  /** The stage works without it. */
  optional?: true;
};

type Owner = Pick<StageSecret, "zone" | "account" | "region">;
type Draft = Omit<StageSecret, "id" | "env"> & { reference: SecretReference };

/** Lists each secret once per zone. The stage's own Execution zone is called with a signature, which needs no secret. */
export function listStageSecrets({
  config,
  stageName,
  stage,
}: NamedStage & { config: Config }): StageSecret[] {
  const drafts = [
    ...listVerificationSecrets(config, stage),
    ...listExecutionSecrets(config, stage),
  ];
  const secrets = drafts.map(({ reference, ...secret }) => ({
    ...secret,
    ...toId(reference, stageName, secret.region),
  }));
  return secrets.filter(
    ({ zone, id }, index) =>
      secrets.findIndex((other) => other.id === id && other.zone === zone) === index,
  );
}

function listVerificationSecrets(
  config: Config,
  { verification: { account, region } }: Stage,
): Draft[] {
  const owner = { zone: "Verification" as const, account, region };
  const { signingSecret, botToken, install } = config.slack;
  const token: Draft = {
    ...owner,
    use: "bot token",
    purpose: "Slack bot token",
    reference: botToken,
  };
  const client: Omit<Draft, "reference"> = {
    ...owner,
    use: "Slack client secret",
    purpose: "Slack client secret",
  };
  // With the installation flow every workspace gets a token of its own.
  const tokens: Draft[] =
    install === undefined
      ? [token]
      : [
          { ...token, optional: true },
          { ...client, reference: install.clientSecret },
        ];
  return [
    { ...owner, use: "signing secret", purpose: "Slack signing secret", reference: signingSecret },
    ...tokens,
    ...Object.entries(config.destinations).flatMap(([name, destination]) => {
      const authorizer = resolveAuthorizerConfig(destination);
      if (authorizer === undefined || isOwnExecution(destination)) return [];
      return listAuthorizerSecrets(authorizer).map(({ use, reference }) => {
        return { ...owner, use, purpose: `${use} of destination ${name}`, reference };
      });
    }),
    ...listCollectorSecrets(config, owner),
  ];
}

function listExecutionSecrets(config: Config, stage: Stage): Draft[] {
  const executionTarget = findExecutionTarget(stage);
  if (executionTarget === undefined) return [];
  const { a2a } = config.execution;
  const owner = {
    zone: "Execution" as const,
    account: executionTarget.account,
    region: executionTarget.region,
  };
  const cardKeys = isA2aEndpoint({ config, kind: stage.execution.kind })
    ? listCardSecrets(a2a)
    : [];
  return [
    ...listCollectorSecrets(config, owner),
    ...listAgents(config.execution).flatMap(({ name, agent }) =>
      listSecretsOfAgent(agent).map((secret) => {
        const purpose = `${secret.use} of ${name === undefined ? "the agent" : `agent ${name}`}`;
        return { ...owner, ...secret, purpose };
      }),
    ),
    ...cardKeys.map((reference) => {
      return {
        ...owner,
        use: "private key" as const,
        purpose: "private key of the agent card",
        reference,
      };
    }),
  ];
}

/** Each zone sends its own spans. */
function listCollectorSecrets({ telemetry }: Config, owner: Owner): Draft[] {
  const { exporter } = telemetry.traces;
  const headers = exporter.type === "otlp" ? Object.entries(exporter.headers) : [];
  return headers.map(([name, reference]) => {
    return {
      ...owner,
      use: "collector header",
      purpose: `header ${name} for the collector of spans`,
      reference,
    };
  });
}

/** An ARN names its own region. */
function toId(reference: SecretReference, stageName: string, region: string) {
  if ("env" in reference)
    return { id: formatManagedSecretName({ stageName, env: reference.env }), env: reference.env };
  const id = reference.secretsManager;
  return {
    id,
    env: undefined,
    region: id.startsWith("arn:") ? (id.split(":")[3] ?? region) : region,
  };
}
