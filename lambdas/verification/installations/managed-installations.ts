/** Installations in AWS Secrets Manager: each is a secret of its own, so that one who may read one may not read all. */
import { randomUUID } from "node:crypto";
import type { AwsSurroundings } from "../../shared/aws/credentials.ts";
import { AwsCallError, createJsonCall } from "../../shared/aws/json-call.ts";
import { type Installations, requireInstallationId, storedInstallationSchema } from "./installations.ts";

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
