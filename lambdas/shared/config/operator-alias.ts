/**
 * The alias of the worker's function that operators invoke. The event sources invoke the function itself. IAM compares the whole
 * ARN, so permission on the alias does not include the function, and Lambda tells the handler which of them was invoked.
 */
export const operatorAlias = "operator";
