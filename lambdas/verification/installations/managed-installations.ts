/** Installations in AWS Secrets Manager: each is a secret of its own, so that one who may read one may not read all. */
import { randomUUID } from "node:crypto";
import type { AwsSurroundings } from "../../shared/aws/credentials.ts";
import { AwsCallError, createJsonCall } from "../../shared/aws/json-call.ts";
import { type Installations, requireInstallationId, storedInstallationSchema } from "./installations.ts";

/** `prefix` ends with a slash. Rejects with an AwsCallError, or as the network does; never with a value. */
export function createManagedInstallations({
  prefix,
  aws,
  timeoutMs = 3000,
  newId = randomUUID,
}: {
  prefix: string;
  aws: AwsSurroundings;
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
        unless("ResourceNotFoundException", undefined),
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
      }).catch(unless("ResourceExistsException", "exists" as const));
      if (created === "exists") await ask("PutSecretValue", { SecretId: nameOf(id), ...value });
    },
  };
}

function unless<T>(name: string, instead: T): (thrown: unknown) => T {
  return (thrown) => {
    if (thrown instanceof AwsCallError && thrown.name === name) return instead;
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
