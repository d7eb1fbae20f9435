/** Which secrets a stage needs, in which account each one belongs, and what its name is there. */

import { listAgentSecrets, listCardSecrets } from "../../../lambdas/execution/config/execution-secrets.ts";
import { type AuthorizerSecretUse, listAuthorizerSecrets } from "../../../lambdas/shared/config/authorizer-schema.ts";
import { isOwnExecution, resolveAuthorizerConfig } from "../../../lambdas/shared/config/destination-address.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import {
  findExecutionPlace,
  formatManagedSecretName,
  isA2aEndpoint,
} from "../../../lambdas/shared/config/stage-config.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
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
  /** A person's words for what it is for. */
  purpose: string;
  /** Its name or ARN in Secrets Manager. */
  id: string;
  /** Whose value the command line writes; undefined where someone else keeps the secret. */
  env: string | undefined;
  /** The stage does without it as well. */
  optional?: true;
};

/** Each secret once per zone. The stage's own Execution zone is called with a signature and so needs none. */
export function listStageSecrets({ config, stageName, stage }: NamedStage & { config: Config }): StageSecret[] {
  const { account, region } = stage.verification;
  const verification = { zone: "Verification" as const, account, region };
  const { signingSecret, botToken, install } = config.slack;
  const secrets = [
    { ...verification, use: "signing secret", purpose: "Slack signing secret", reference: signingSecret },
    {
      ...verification,
      use: "bot token",
      purpose: "Slack bot token",
      reference: botToken,
      // Where there is an installation flow, every workspace gets a token by it.
      ...(install === undefined ? {} : { optional: true }),
    },
    ...(install === undefined
      ? []
      : [
          {
            ...verification,
            use: "Slack client secret" as const,
            purpose: "Slack client secret",
            reference: install.clientSecret,
          },
        ]),
    ...Object.entries(config.destinations).flatMap(([name, destination]) => {
      const authorizer = resolveAuthorizerConfig(destination);
      if (authorizer === undefined || isOwnExecution(destination)) return [];
      return listAuthorizerSecrets(authorizer).map(({ use, reference }) => ({
        ...verification,
        use,
        purpose: `${use} of destination ${name}`,
        reference,
      }));
    }),
    ...collectorSecrets({ config, zone: verification }),
    ...executionSecrets({ config, stage }),
  ] satisfies Draft[];
  const named = secrets.map(({ reference, ...rest }) => ({ ...rest, ...idOf({ reference, stageName, ...rest }) }));
  return named.filter(
    ({ zone, id }, index) => named.findIndex((other) => other.id === id && other.zone === zone) === index,
  );
}

type Draft = Omit<StageSecret, "id" | "env"> & { reference: SecretReference };

function executionSecrets({ config, stage }: { config: Config; stage: NamedStage["stage"] }): Draft[] {
  const place = findExecutionPlace(stage);
  if (place === undefined) return [];
  const { agent, a2a } = config.execution;
  const { account, region } = place;
  const here = { zone: "Execution" as const, account, region };
  const cardKeys = isA2aEndpoint({ config, kind: stage.execution.kind }) ? listCardSecrets(a2a) : [];
  return [
    ...collectorSecrets({ config, zone: here }),
    ...listAgentSecrets(agent).map((reference) => ({
      ...here,
      use: "API key" as const,
      purpose: "API key of the agent's model",
      reference,
    })),
    ...cardKeys.map((reference) => ({
      ...here,
      use: "private key" as const,
      purpose: "private key of the agent card",
      reference,
    })),
  ];
}

/** Each zone sends its own spans. */
function collectorSecrets({
  config: { telemetry },
  zone,
}: {
  config: Config;
  zone: Pick<StageSecret, "zone" | "account" | "region">;
}): Draft[] {
  const { exporter } = telemetry.traces;
  const headers = exporter.type === "otlp" ? Object.entries(exporter.headers) : [];
  return headers.map(([name, reference]) => ({
    ...zone,
    use: "collector header",
    purpose: `header ${name} for the collector of spans`,
    reference,
  }));
}

/** An ARN says its own region. */
function idOf({ reference, stageName, region }: { reference: SecretReference; stageName: string; region: string }) {
  if ("env" in reference) return { id: formatManagedSecretName({ stageName, env: reference.env }), env: reference.env };
  const id = reference.secretsManager;
  return { id, env: undefined, region: id.startsWith("arn:") ? (id.split(":")[3] ?? region) : region };
}
