/** Secrets as checks get them: the value, or why it cannot be had, in words for a person. */
import { formatSecretName } from "../../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { lacksCredentials } from "../aws/aws-failure.ts";

/** `missing` completes nothing: it is a sentence. */
export type SecretInHand = { value: string } | { missing: string };

/** Never rejects. What the reading itself says may come from AWS, and is not repeated. */
export async function readSecretInHand({
  reference,
  readSecret,
}: {
  reference: SecretReference;
  readSecret: (reference: SecretReference) => Promise<string>;
}): Promise<SecretInHand> {
  const name = formatSecretName(reference);
  try {
    const value = (await readSecret(reference)).trim();
    return value === "" ? { missing: `${name} is empty.` } : { value };
  } catch (thrown) {
    if ("env" in reference) return { missing: `${name} is not set here.` };
    if (lacksCredentials(thrown)) return { missing: `${name} cannot be read: there are no AWS credentials here.` };
    return { missing: `${name} cannot be read with these credentials.` };
  }
}
