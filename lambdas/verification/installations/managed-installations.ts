/** Stores installations in AWS Secrets Manager. Each has its own secret, so that access can be granted one by one. */
import { randomUUID } from "node:crypto";
import type { Config } from "@sekisho/config/schema.ts";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import type { ReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import type { BotTokens } from "../slack/api/slack.ts";
import {
  createBotTokens,
  type FindTeam,
  type Installations,
  requireInstallationId,
  storedInstallationSchema,
} from "./installations.ts";

/** The error for a secret that is scheduled for deletion. For some days it cannot be read, and its name is still taken. */
const deletionScheduled = "InvalidRequestException";
const noSecret: readonly string[] = ["ResourceNotFoundException", deletionScheduled];
const callTimeoutMs = 3000;

/** `prefix` ends with a slash. Rejects with an AwsCallError or a network error, never with a secret's value in it. */
export function createManagedInstallations({
  prefix,
  aws,
}: {
  prefix: string;
  aws: AwsDependencies;
}): Installations {
  const client = createJsonClient({ ...aws, service: "secretsmanager", timeoutMs: callTimeoutMs });

  function createName(id: string): string {
    requireInstallationId(id);
    return `${prefix}${id}`;
  }

  return {
    async get({ id }) {
      const answer = await client
        .call("GetSecretValue", { SecretId: createName(id) })
        .catch(expectErrors(noSecret));
      return typeof answer === "string" ? undefined : parse(answer.SecretString, id);
    },
    async put({ id, installation }) {
      const SecretId = createName(id);
      const [ClientRequestToken, SecretString] = [randomUUID(), JSON.stringify(installation)];
      const Description = "Sekisho: the bot token of an installation";
      const creation = await client
        .call("CreateSecret", { Name: SecretId, ClientRequestToken, Description, SecretString })
        .catch(expectErrors(["ResourceExistsException", deletionScheduled]));
      if (creation === deletionScheduled) await client.call("RestoreSecret", { SecretId });
      if (typeof creation === "string")
        await client.call("PutSecretValue", { SecretId, ClientRequestToken, SecretString });
    },
  };
}

/** Returns a handler that resolves to the name of an expected AWS error and throws every other error. */
function expectErrors(names: readonly string[]): (error: unknown) => string {
  return (error) => {
    if (error instanceof AwsCallError && names.includes(error.name)) return error.name;
    throw error;
  };
}

/** The error has no cause, because a message of zod could contain the token. */
function parse(text: unknown, id: string) {
  try {
    return storedInstallationSchema.parse(JSON.parse(String(text)));
  } catch {
    throw new Error(
      `The secret of the installation ${id} in Secrets Manager does not contain a valid installation.`,
    );
  }
}

/** `installationsPrefix` is undefined if the app is installed in a single workspace, by hand. */
export function createStageTokens(options: {
  slack: Pick<Config["slack"], "botToken">;
  aws: AwsDependencies;
  readManagedSecret: ReadManagedSecret;
  installationsPrefix: string | undefined;
  teamOf: FindTeam;
}): BotTokens {
  const { slack, aws, readManagedSecret, installationsPrefix, teamOf } = options;
  if (!("secretsManager" in slack.botToken))
    throw new Error("On AWS, the bot token must be a Secrets Manager secret.");
  const id = slack.botToken.secretsManager;
  const botToken = () => readManagedSecret({ id });
  if (installationsPrefix === undefined) return createBotTokens({ botToken });
  return createBotTokens({
    // With an installation flow, a stage needs no bot token of its own. A denied access does not count as a missing
    // token, because IAM may deny access for a while after a role has changed.
    botToken: async () => {
      try {
        return await botToken();
      } catch (error) {
        expectErrors(noSecret)(error);
        return undefined;
      }
    },
    installations: createManagedInstallations({ prefix: installationsPrefix, aws }),
    teamOf,
  });
}
