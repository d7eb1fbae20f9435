/** Installations in AWS Secrets Manager: each is a secret of its own, so that one who may read one may not read all. */
import { randomUUID } from "node:crypto";
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { AwsCallError, createJsonCall } from "../../shared/aws/json-call.ts";
import type { ReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import type { Config } from "../../shared/config/schema.ts";
import type { BotTokens } from "../slack/api/slack.ts";
import {
  createBotTokens,
  createFindTeam,
  type Installations,
  requireInstallationId,
  storedInstallationSchema,
} from "./installations.ts";

/** A secret is deleted some days after it was asked for; until then it is neither there nor is its name free. */
const deletionAsked = "InvalidRequestException";

/** `prefix` ends with a slash. Rejects with an AwsCallError, or as the network does; never with a value. */
export function createManagedInstallations({
  prefix,
  aws,
  timeoutMs = 3000,
  newId = randomUUID,
}: {
  prefix: string;
  aws: AwsDependencies;
  timeoutMs?: number;
  newId?: () => string;
}): Installations {
  const call = createJsonCall({ ...aws, service: "secretsmanager", version: "1.1" });
  const ask = (operation: string, input: Record<string, unknown>) =>
    call({ target: `secretsmanager.${operation}`, input, signal: AbortSignal.timeout(timeoutMs) });

  function nameOf(id: string): string {
    requireInstallationId(id);
    return `${prefix}${id}`;
  }

  return {
    async get({ id }) {
      const answer = await ask("GetSecretValue", { SecretId: nameOf(id) }).catch(
        unless(["ResourceNotFoundException", deletionAsked], () => undefined),
      );
      if (answer === undefined) return undefined;
      return parse(answer.SecretString, id);
    },
    async put({ id, installation }) {
      const value = { SecretString: JSON.stringify(installation), ClientRequestToken: newId() };
      const created = await ask("CreateSecret", {
        Name: nameOf(id),
        Description: "Sekisho: the bot token of an installation",
        ...value,
      }).catch(unless(["ResourceExistsException", deletionAsked], (name) => name));
      if (created === deletionAsked) await ask("RestoreSecret", { SecretId: nameOf(id) });
      if (typeof created === "string") await ask("PutSecretValue", { SecretId: nameOf(id), ...value });
    },
  };
}

function unless<T>(names: readonly string[], instead: (name: string) => T): (thrown: unknown) => T {
  return (thrown) => {
    if (thrown instanceof AwsCallError && names.includes(thrown.name)) return instead(thrown.name);
    throw thrown;
  };
}

/** What is wrong with it is not told: a message of zod may hold what it found. */
function parse(text: unknown, id: string) {
  try {
    return storedInstallationSchema.parse(JSON.parse(String(text)));
  } catch {
    throw new Error(`The installation ${id} in Secrets Manager is none.`);
  }
}

/**
 * Where there is an installation flow, a stage may do without a bot token of its own. The second: its deletion was asked for.
 * That access is denied says nothing: it is denied for a while after a role was changed.
 */
const noSecret: readonly string[] = ["ResourceNotFoundException", "InvalidRequestException"];

/** `installationsPrefix` is undefined where the app is installed in one workspace only, by hand. */
export function createStageTokens({
  slack,
  aws,
  readManagedSecret,
  installationsPrefix,
  apiUrl,
}: {
  slack: Pick<Config["slack"], "botToken">;
  aws: AwsDependencies;
  readManagedSecret: ReadManagedSecret;
  installationsPrefix: string | undefined;
  apiUrl: string;
}): BotTokens {
  if (!("secretsManager" in slack.botToken)) throw new Error("On AWS the bot token is a secret of Secrets Manager.");
  const id = slack.botToken.secretsManager;
  const botToken = () => readManagedSecret({ id });
  if (installationsPrefix === undefined) return createBotTokens({ botToken });
  return createBotTokens({
    botToken: () =>
      botToken().catch((thrown: unknown) => {
        if (thrown instanceof AwsCallError && noSecret.includes(thrown.name)) return undefined;
        throw thrown;
      }),
    installations: createManagedInstallations({ prefix: installationsPrefix, aws }),
    teamOf: createFindTeam({ apiUrl }),
  });
}
