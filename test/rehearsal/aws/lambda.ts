/** Lambda's Invoke (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html) and the settings of a new account. */
import type { RunningFunction } from "../lambda/function.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";

/** Sandbox time-outs and thrown errors come as an answer of their own kind, with status 200. */
export function lambdaBackend({ functions }: { functions: () => ReadonlyMap<string, RunningFunction> }): Backend {
  return async ({ call: { action, resources, input } }) => {
    if (action === "lambda:GetAccountSettings") return Response.json({ AccountLimit: { ConcurrentExecutions: 10 } });
    const [invokedArn = ""] = resources;
    const fn = functionAt({ functions: functions(), arn: invokedArn });
    if (fn === undefined) return awsFailure({ service: "lambda", name: "ResourceNotFoundException", status: 404 });
    const outcome = await fn.invoke(input.event, [], invokedArn);
    if (outcome.ok) return Response.json(outcome.payload);
    const [, errorType = "Unhandled"] = /^it threw (\w+)/.exec(outcome.error) ?? [];
    const headers = { "x-amz-function-error": "Unhandled" };
    return Response.json({ errorType, errorMessage: outcome.error }, { headers });
  };
}

/** IAM has already decided on the whole ARN, so an alias is not the function that it leads to. */
function functionAt({
  functions,
  arn,
}: {
  functions: ReadonlyMap<string, RunningFunction>;
  arn: string;
}): RunningFunction | undefined {
  return functions.get(arn) ?? [...functions.values()].find(({ fn }) => fn.aliasArns.includes(arn));
}
