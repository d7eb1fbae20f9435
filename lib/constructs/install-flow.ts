/** The installation flow of Slack's OAuth: a function with a role of its own, which stores tokens but cannot read one. */
import { Duration } from "aws-cdk-lib";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { createNodeFunction } from "./node-function.ts";
import { readSecrets, storeSecretsBelow } from "./permissions.ts";

/** More than Slack and Secrets Manager may take together. */
const timeout = Duration.seconds(20);
const memoryMb = 256;

export function createInstallFlow(
  scope: Construct,
  {
    clientId,
    clientSecret,
    prefix,
    slackApiUrl,
    folder,
    ...common
  }: {
    clientId: string;
    clientSecret: Extract<SecretReference, { secretsManager: string }>;
    /** Where the names of the installations' secrets begin. */
    prefix: string;
    slackApiUrl: string;
    folder: string;
    production: boolean;
    logs: Record<string, string>;
    logRetentionDays: number;
  },
): IFunction {
  const flow = createNodeFunction(scope, "InstallFlow", {
    ...common,
    description: "Installs the Slack app into a workspace",
    folder,
    environment: {
      SEKISHO_CLIENT_ID: clientId,
      SEKISHO_CLIENT_SECRET: clientSecret.secretsManager,
      SEKISHO_INSTALLATIONS_PREFIX: prefix,
      SEKISHO_SLACK_API_URL: slackApiUrl,
    },
    timeout,
    memoryMb,
  });
  flow.addToRolePolicy(readSecrets(scope, [clientSecret.secretsManager]));
  if (flow.role !== undefined) storeSecretsBelow(flow.role, prefix);
  return flow;
}
