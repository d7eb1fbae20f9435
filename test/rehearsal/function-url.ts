/** A Function URL with IAM: whoever calls must have signed, and be allowed twice over, before the function hears of it. */
import { type Received, startWebServer, type WebServer } from "../doubles/web-server.ts";
import type { Caller } from "./aws/callers.ts";
import type { Gateway } from "./aws/gateway.ts";
import { sigv4ProblemAt } from "./aws/signed-by.ts";
import { clock } from "./clock.ts";
import { eventOf, responseOf } from "./http-event.ts";
import type { Authority } from "./iam/authority.ts";
import type { RunningFunction } from "./lambda/function.ts";
import type { Resource } from "./template/resolve.ts";

/** Function URLs made since October 2025 need both: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html */
const needed = [
  { action: "lambda:InvokeFunctionUrl", context: { "lambda:functionurlauthtype": "AWS_IAM" } },
  { action: "lambda:InvokeFunction", context: { "lambda:invokedviafunctionurl": "true" } },
];

const throttleReason = "ConcurrentInvocationLimitExceeded";

export async function startFunctionUrl({
  url,
  fn,
  authority,
  callerOf,
  calls,
  onProblem,
}: {
  url: Resource;
  fn: RunningFunction;
  authority: Authority;
  callerOf: (accessKeyId: string) => Caller | undefined;
  calls: Gateway["calls"];
  onProblem: (problem: string) => void;
}): Promise<WebServer> {
  if (url.properties.AuthType !== "AWS_IAM")
    onProblem(`${url.label} can be called by anyone: its AuthType is no AWS_IAM.`);
  const { arn, region, label } = fn.fn;

  async function handle(received: Received): Promise<Response> {
    const { headers } = received.request;
    const arrivedMs = Date.now();
    await clock.settled();
    const [, accessKeyId = ""] = /Credential=([^/]+)\//.exec(headers.get("authorization") ?? "") ?? [];
    const caller = callerOf(accessKeyId);
    if (caller === undefined) return refuse(`Someone unknown called the URL of ${label}.`);
    const bad = sigv4ProblemAt({ received, credentials: caller.credentials, service: "lambda", region, arrivedMs });
    if (bad !== undefined) return refuse(`${caller.name} signed the call of ${label} wrongly: ${bad}.`);
    const principal = { type: "role", arn: caller.roleArn, account: caller.account } as const;
    for (const { action, context } of needed) {
      const decision = authority.check({ principal, action, resource: arn, context });
      if (!decision.allowed) return refuse(`${caller.name} may not ${action} on ${arn}: ${decision.why}.`);
    }
    calls.push({ action: "lambda:InvokeFunctionUrl", resources: [arn], caller: caller.name, kind: caller.kind });
    const roleName = caller.roleArn.split("/").at(-1);
    const session = caller.name.split("/").at(-1);
    const iam = {
      accessKey: accessKeyId,
      accountId: caller.account,
      callerId: `AROA${roleName}:${session}`,
      cognitoIdentity: null,
      principalOrgId: null,
      userArn: `arn:aws:sts::${caller.account}:assumed-role/${roleName}/${session}`,
      userId: `AROA${roleName}:${session}`,
    };
    const event = eventOf({ received, routeKey: "$default", requestContext: { authorizer: { iam } } });
    const outcome = await fn.invoke(event);
    if (outcome.ok) return responseOf(outcome.payload);
    // https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html: a throttled Function URL answers 429.
    if (outcome.isThrottled) return Response.json({ Reason: throttleReason, Message: outcome.error }, { status: 429 });
    return new Response("Internal Server Error", { status: 502 });
  }

  function refuse(problem: string): Response {
    onProblem(problem);
    return Response.json({ Message: "Forbidden" }, { status: 403 });
  }

  return startWebServer({ handle });
}
