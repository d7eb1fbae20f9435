/** Secrets that a command cannot do without: better refused at the start than at the first task. */

import { secretsOfAuthorizer } from "../../lambdas/shared/config/authorizer-secrets.ts";
import { authorizerConfigOf } from "../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../lambdas/shared/config/destination-schema.ts";
import { hasSecret, nameOfSecret } from "../../lambdas/shared/config/secret-in-hand.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { UsageError } from "./command.ts";

/** Throws a UsageError that names the first environment variable that is not set. */
export function requireSecrets(references: readonly SecretReference[]): void {
  const missing = references.find((reference) => !hasSecret(reference));
  if (missing !== undefined) throw new UsageError(`The environment variable ${nameOfSecret(missing)} is not set.`);
}

/** What a call to the destination is authorized with. */
export function secretsOfDestination(destination: Destination): SecretReference[] {
  const authorizer = authorizerConfigOf(destination);
  return authorizer === undefined ? [] : secretsOfAuthorizer(authorizer).map(({ reference }) => reference);
}
