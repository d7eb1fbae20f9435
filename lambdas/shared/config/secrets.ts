/** Secrets are references in the configuration; here they are read, each time anew, so that a rotated one is seen. */
import type { SecretReference } from "./schema.ts";

/** Resolves to the secret's value; rejects with a message that names the reference, never a value. */
export async function readSecret(reference: SecretReference): Promise<string> {
  const value = process.env[reference.env];
  if (!value) throw new Error(`The environment variable ${reference.env} is not set; the configuration refers to it.`);
  return value;
}

export function hasSecret(reference: SecretReference): boolean {
  return Boolean(process.env[reference.env]);
}
