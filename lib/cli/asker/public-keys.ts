/** The public halves of the keys that sign who asked: from KMS for a stage, from the data folder on one machine. */
import { createPublicKey, type KeyObject } from "node:crypto";
import { formatAskerKeyAlias } from "@sekisho/cdk/names.ts";
import type { AskerConfig } from "@sekisho/config/asker-schema.ts";
import { readLocalPublicKey } from "@sekisho/local/asker-keys.ts";
import type { AskerAlgorithm } from "@sekisho/runtime/asker/asker.ts";
import { isKeyOf } from "@sekisho/runtime/asker/key-kind.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { createEndpointResolver } from "@sekisho/runtime/aws/environment.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { AwsFailure, callAws, errorNameOf } from "../aws/aws-failure.ts";
import type { NamedStage } from "../aws/stage.ts";

/** `jwk` is what is published (RFC 7517). */
export type PublicKey = { id: string; kid: string; jwk: Record<string, unknown> };

export type KeySource = {
  asker: AskerConfig;
  /** The folder of the key files of one machine. */
  dataFolder: string;
  /** The stage whose keys are in KMS. Without it the keys are those of this machine. */
  named?: NamedStage | undefined;
  /** Creates the key files that are missing. */
  creates: boolean;
  signal: AbortSignal;
};

/** Leaves out keys that do not exist yet. Rejects with an AwsFailure or an AskerKeyError. */
export async function readPublicKeys(source: KeySource): Promise<PublicKey[]> {
  const { asker, named, dataFolder, creates, signal } = source;
  const { algorithm } = asker;
  const read =
    named === undefined
      ? (id: string) => readLocalPublicKey({ dataFolder, id, algorithm, creates })
      : openStageKeys({ named, algorithm, signal });
  const keys = await Promise.all(
    asker.keys.map(async ({ id }) => {
      const publicKey = await read(id);
      if (publicKey === undefined) return [];
      const { kid, key } = publicKey;
      // Only the members of a public key, whatever the object holds.
      const { kty, n, e, crv, x, y } = key.export({ format: "jwk" });
      const parts = Object.entries({ kty, n, e, crv, x, y }).filter(([, part]) => part);
      return [{ id, kid, jwk: { ...Object.fromEntries(parts), kid, use: "sig", alg: algorithm } }];
    }),
  );
  return keys.flat();
}

function openStageKeys(options: {
  named: NamedStage;
  algorithm: AskerAlgorithm;
  signal: AbortSignal;
}) {
  const { named, algorithm, signal } = options;
  const { stageName, stage } = named;
  const { region } = stage.verification;
  const client = createJsonClient({
    ...{ region, credentials: defaultAwsCredentials(), service: "kms", timeoutMs: 15_000 },
    endpointOf: createEndpointResolver({ region }),
  });
  return async (id: string): Promise<{ kid: string; key: KeyObject } | undefined> => {
    const input = { KeyId: formatAskerKeyAlias({ stageName, id }) };
    const doing = `read the public key ${input.KeyId}`;
    try {
      const { KeyId, PublicKey } = await callAws({
        doing,
        signal,
        call: ({ abortSignal }) =>
          client.call("GetPublicKey", input, { signal: abortSignal }).catch(throwWithStatus),
      });
      const arn = String(KeyId);
      const der = Buffer.from(String(PublicKey), "base64");
      const key = createPublicKey({ key: der, format: "der", type: "spki" });
      if (!isKeyOf({ key, algorithm }))
        throw new AwsFailure(
          `${input.KeyId} is not a key for ${algorithm}. Deploy the stage, which replaces it, then publish.`,
        );
      return { kid: arn.slice(arn.lastIndexOf("/") + 1), key };
    } catch (error) {
      const name = errorNameOf(error);
      if (name === "NotFoundException") return undefined;
      if (/^(Disabled|KMSInvalidState)Exception$/.test(name))
        throw new AwsFailure(
          `Could not ${doing}: it is disabled or waits for its deletion (${name}). If that was a mistake, run aws kms cancel-key-deletion and aws kms enable-key.`,
        );
      throw error;
    }
  };
}

/** Adds the status where the errors of the SDK have it. */
function throwWithStatus(error: unknown): never {
  if (error instanceof AwsCallError)
    throw Object.assign(error, { $metadata: { httpStatusCode: error.status } });
  throw error;
}
