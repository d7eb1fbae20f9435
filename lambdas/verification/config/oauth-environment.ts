/** Reads the environment of the installation flow on Lambda. An error names the variable that is missing or wrong. */
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { readAwsEnvironment, required } from "../../shared/config/aws-environment.ts";
import { readEnvironment } from "../../shared/config/environment.ts";
import { type LogSettings, logSettingsOf } from "../../shared/config/telemetry-schema.ts";

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
    clientId: required(variables, "SEKISHO_CLIENT_ID"),
    clientSecret: required(variables, "SEKISHO_CLIENT_SECRET"),
    installationsPrefix: required(variables, "SEKISHO_INSTALLATIONS_PREFIX"),
    table: required(variables, "SEKISHO_TABLE"),
    slackApiUrl: required(variables, "SEKISHO_SLACK_API_URL"),
    logs: logSettingsOf({ environment: readEnvironment(variables) }),
    aws: readAwsEnvironment(variables),
  };
}
