/** What a failed call of AWS STS means for an authorizer. */
import { AwsCallError } from "../../../shared/aws/json-call.ts";
import { codeOf, credentialFailure } from "./credential-error.ts";

/** STS says 400 to what is asked too often, and to what will do later. */
const passing = /throttl|limitexceeded|toomanyrequests|requesttimeout|expiredtoken/i;

/** For `catch`: throws what `credentialFailure` makes of it. */
export function throwStsFailure(thrown: unknown): never {
  const refused = thrown instanceof AwsCallError && !passing.test(thrown.name) ? thrown.status : 0;
  throw credentialFailure({ status: refused, code: codeOf(thrown) });
}
