/** Are the secrets there that the configuration refers to? Names only, never values. */
import { nameOfSecret } from "../../../lambdas/shared/config/secret-in-hand.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { type Check, failed, ok } from "../check.ts";
import { secretInHand } from "../secrets-in-hand.ts";

export function secretsHere({
  references,
  readSecret,
}: {
  /** Without those that may be missing. */
  references: readonly SecretReference[];
  readSecret: (reference: SecretReference) => Promise<string>;
}): Check {
  const named = new Map(references.map((reference) => [nameOfSecret(reference), reference]));
  return {
    name: "secrets",
    async run() {
      if (named.size === 0) return ok("The configuration needs none here.");
      const looked = await Promise.all([...named.values()].map((reference) => secretInHand({ reference, readSecret })));
      const missing = looked.flatMap((secret) => ("missing" in secret ? [secret.missing] : []));
      if (missing.length === 0) return ok(`All are there: ${[...named.keys()].join(", ")}.`);
      const remedy = "Set each variable where sekisho is started; for Secrets Manager, AWS_PROFILE and AWS_REGION.";
      return failed(missing.join(" "), remedy);
    },
  };
}
