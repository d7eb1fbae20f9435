/**
 * The asker's tokens of a stage, with everything that makes them. It is a file beside the worker (`lazyInWorker` in lib/cdk/bundle/entry.ts),
 * which only workers load that tell somebody who asked. What needs the network is passed in, so that the file has no second HTTP client.
 */
import type { AskerAlgorithm, AskerTokens } from "./asker.ts";
import { createKmsSigner, type KmsKey, type KmsSign } from "./kms-signer.ts";
import { createAskerTokens } from "./tokens.ts";

export function createStageAskerTokens(options: {
  issuer: string;
  clientId: string;
  algorithm: AskerAlgorithm;
  keys: readonly KmsKey[];
  sign: KmsSign;
}): AskerTokens {
  const { issuer, clientId, ...signerOptions } = options;
  return createAskerTokens({ issuer, clientId, signer: createKmsSigner(signerOptions) });
}
