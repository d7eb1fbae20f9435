/** Reads the environment of the installation function. */

import { readEnvironment } from "@sekisho/config/environment.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import { readAwsEnvironment, requireVariable } from "@sekisho/runtime/aws/environment.ts";

/** Throws an error that names the missing or invalid variable. */
export function readOauthEnvironment(variables: NodeJS.ProcessEnv = process.env) {
  return {
    clientId: requireVariable(variables, "SEKISHO_CLIENT_ID"),
    /** The name or ARN of the client secret in Secrets Manager. */
    clientSecret: requireVariable(variables, "SEKISHO_CLIENT_SECRET"),
    /** The prefix of the names of the secrets that hold installations. */
    installationsPrefix: requireVariable(variables, "SEKISHO_INSTALLATIONS_PREFIX"),
    /** The zone's table. It holds the OAuth states that were used, and the number of installations today. */
    table: requireVariable(variables, "SEKISHO_TABLE"),
    slackApiUrl: requireVariable(variables, "SEKISHO_SLACK_API_URL"),
    logs: toLogSettings({ environment: readEnvironment(variables) }),
    aws: readAwsEnvironment(variables),
  };
}
