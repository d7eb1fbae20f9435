/** Reads the environment of the installation flow on Lambda. An error names the variable that is missing or wrong. */
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { readAwsEnvironment, requireVariable } from "../../shared/config/aws-environment.ts";
import { readEnvironment } from "../../shared/config/environment.ts";
import { type LogSettings, toLogSettings } from "../../shared/config/telemetry-schema.ts";

export type OauthEnvironment = {
  clientId: string;
  /** The name or ARN of the client secret in Secrets Manager. */
  clientSecret: string;
  /** Where the names of the installations' secrets begin. */
  installationsPrefix: string;
  /** The zone's table, for the states that were used. */
  table: string;
  slackApiUrl: string;
  logs: LogSettings;
  aws: AwsDependencies;
};

export function readOauthEnvironment(variables: NodeJS.ProcessEnv = process.env): OauthEnvironment {
  return {
    clientId: requireVariable(variables, "SEKISHO_CLIENT_ID"),
    clientSecret: requireVariable(variables, "SEKISHO_CLIENT_SECRET"),
    installationsPrefix: requireVariable(variables, "SEKISHO_INSTALLATIONS_PREFIX"),
    table: requireVariable(variables, "SEKISHO_TABLE"),
    slackApiUrl: requireVariable(variables, "SEKISHO_SLACK_API_URL"),
    logs: toLogSettings({ environment: readEnvironment(variables) }),
    aws: readAwsEnvironment(variables),
  };
}
