/** The keys of the asker's tokens on one machine: a private file each, in the data folder. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AskerConfig } from "@sekisho/config/asker-schema.ts";
import type { LocalKeys } from "@sekisho/execution/authenticator/asker-token.ts";
import type { AskerAlgorithm, AskerSigner, AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { findCurrentKey } from "@sekisho/runtime/asker/current-key.ts";
import { isKeyOf } from "@sekisho/runtime/asker/key-kind.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { type CachedValue, createCachedValue } from "@sekisho/runtime/async/cache.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { calculateJwkThumbprint, createLocalJWKSet, type JWK } from "jose";
import { openKeyFile } from "./key-file.ts";

/** The name of the zone in the tokens of one machine. */
export const localClientId = "sekisho";

/** The tokens of the zone on this machine. Undefined without the section `asker`. */
export function openLocalAskerTokens(options: {
  asker: AskerConfig | undefined;
  dataFolder: string;
}): AskerTokens | undefined {
  const { asker, dataFolder } = options;
  if (asker === undefined) return undefined;
  const signer = createFileSigner({ asker, dataFolder });
  return createAskerTokens({ issuer: asker.issuer, clientId: localClientId, signer });
}

/** The public keys as a JSON Web Key Set (RFC 7517, section 5). Creates those that do not exist yet. */
async function readLocalJwks(options: {
  asker: AskerConfig;
  dataFolder: string;
}): Promise<{ keys: JWK[] }> {
  const { asker, dataFolder } = options;
  const { algorithm: alg } = asker;
  const keys = asker.keys.map(async ({ id }) => {
    const { jwk, kid } = await openKey({ dataFolder, id, algorithm: alg });
    return { ...jwk, kid, use: "sig", alg };
  });
  return { keys: await Promise.all(keys) };
}

/** The same for the Execution host of this machine, by their issuer: it needs no network, and the issuer need not be published yet. */
export function openLocalAskerKeys(options: {
  asker: AskerConfig | undefined;
  dataFolder: string;
}): LocalKeys | undefined {
  const { asker, dataFolder } = options;
  if (asker === undefined) return undefined;
  const jwks = cacheSuccess(async () =>
    createLocalJWKSet(await readLocalJwks({ asker, dataFolder })),
  );
  return new Map([[asker.issuer, async (header, token) => (await jwks.get())(header, token)]]);
}

function createFileSigner(options: { asker: AskerConfig; dataFolder: string }): AskerSigner {
  const { asker, dataFolder } = options;
  const { algorithm } = asker;
  const keys = new Map(
    asker.keys.map(({ id }) => [id, cacheSuccess(() => openKey({ dataFolder, id, algorithm }))]),
  );

  return {
    algorithm,
    async sign({ textOf }) {
      const { id = "" } = findCurrentKey(asker.keys, Date.now()) ?? {};
      const currentKey = await keys.get(id)?.get();
      if (currentKey === undefined) throw new Error("The section asker has no key.");
      const { key, kid } = currentKey;
      const text = textOf(kid);
      // The form of RFC 7518, section 3.4. RSA ignores it.
      const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
      return { text, signature };
    },
  };
}

/** A failure is tried again by the next caller, so that a file that was repaired needs no restart. */
function cacheSuccess<T>(open: () => Promise<T>): CachedValue<T> {
  const load = async () => ({ value: await open(), keepMs: Number.POSITIVE_INFINITY });
  return createCachedValue({ load, now: Date.now });
}

/** The public half of a key. Undefined if the folder has no such key and none is to be created. */
export async function readLocalPublicKey(options: {
  dataFolder: string;
  id: string;
  algorithm: AskerAlgorithm;
  creates: boolean;
}): Promise<{ kid: string; key: KeyObject } | undefined> {
  if (!options.creates && !existsSync(keyFile(options))) return undefined;
  const { key, kid } = await openKey(options);
  return { kid, key: createPublicKey(key) };
}

type LocalKey = { key: KeyObject; jwk: JWK; kid: string };

/** The file of a key cannot be used. The message says what to do. */
export class AskerKeyError extends Error {
  override name = "AskerKeyError";
}

/**
 * Creates the key if the folder has none of this name. A key of the other algorithm is another key. Rejects with an AskerKeyError.
 */
async function openKey(options: {
  dataFolder: string;
  id: string;
  algorithm: AskerAlgorithm;
}): Promise<LocalKey> {
  const { algorithm } = options;
  const file = keyFile(options);
  const key = readPrivateKey({ file, algorithm });
  const publicKey = createPublicKey(key);
  if (!isKeyOf({ key: publicKey, algorithm }))
    throw new AskerKeyError(
      `${file} does not hold a key for ${algorithm}. Restore it from a copy. ${newKeyText}`,
    );
  const jwk = publicKey.export({ format: "jwk" }) as JWK;
  return { key, jwk, kid: await calculateJwkThumbprint(jwk) };
}

const newKeyText = `If there is none, run ${sekisho} asker rotate --now, which makes a new key.`;

function readPrivateKey(options: { file: string; algorithm: AskerAlgorithm }): KeyObject {
  const { file, algorithm } = options;
  let pem: Buffer;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    pem = openKeyFile({ file, create: () => createPem(algorithm) });
  } catch (cause) {
    throw new AskerKeyError(
      `${file} cannot be read or created (${errorKind(cause)}). Check who owns it and its folder.`,
      { cause },
    );
  }
  try {
    return createPrivateKey(pem);
  } catch {
    // The error has no cause, because its message could contain a part of the key.
    throw new AskerKeyError(
      `${file} is not a private key in PEM. Restore it from a copy. ${newKeyText}`,
    );
  }
}

function keyFile(options: { dataFolder: string; id: string; algorithm: AskerAlgorithm }): string {
  const { dataFolder, id, algorithm } = options;
  return join(dataFolder, "asker-keys", `${id}-${algorithm}.pem`);
}

function createPem(algorithm: AskerAlgorithm): string | Buffer {
  const { privateKey } =
    algorithm === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" });
}
