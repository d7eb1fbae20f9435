/** Lambda, as far as the command line invokes functions: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html */

/** The functions that are there, by ARN. What one throws is the function's failure. */
export type Functions = Map<string, (event: unknown) => Promise<unknown>>;

/** The ARN that the request names; undefined where it is no invocation. */
export function invokedFunction({ method, target }: { method: string; target: string }): string | undefined {
  const [, name] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(target.split("?")[0] ?? "") ?? [];
  return method === "POST" && name !== undefined ? decodeURIComponent(name) : undefined;
}

export async function invoke({
  functions,
  arn,
  body,
}: {
  functions: Functions;
  arn: string;
  body: string;
}): Promise<Response> {
  const run = functions.get(arn);
  if (run === undefined) return lambdaError({ status: 404, name: "ResourceNotFoundException", message: arn });
  try {
    return Response.json(await run(JSON.parse(body)));
  } catch (thrown) {
    const { name, message } = thrown as Error;
    return Response.json(
      { errorType: name, errorMessage: message, trace: [] },
      { headers: { "x-amz-function-error": "Unhandled" } },
    );
  }
}

export function lambdaError({ status, name, message }: { status: number; name: string; message: string }): Response {
  return Response.json({ Type: "User", Message: message }, { status, headers: { "x-amzn-errortype": name } });
}
