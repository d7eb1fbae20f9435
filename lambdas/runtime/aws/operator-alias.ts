/** The alias by which operators invoke the worker function. */

/**
 * The alias of the worker function that operators invoke; event sources invoke the function itself. IAM compares the whole ARN, so a
 * permission for the alias does not include the function. Lambda tells the handler which one was invoked.
 */
export const operatorAlias = "operator";

export function isOperatorInvocation({
  invokedFunctionArn,
}: {
  invokedFunctionArn: string;
}): boolean {
  return invokedFunctionArn.endsWith(`:${operatorAlias}`);
}
