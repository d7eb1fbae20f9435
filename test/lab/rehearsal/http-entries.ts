/** The HTTP entries that invoke functions: the HTTP API for Slack, and Function URLs with IAM. */
import { type Received, startWebServer, type WebServer } from "../../doubles/web-server.ts";
import type { Caller } from "./aws/callers.ts";
import { type Gateway, signedBy, sigv4ProblemAt } from "./aws/gateway.ts";
import { createMetrics, type Metrics, measureEntry } from "./aws/metrics.ts";
import { clock } from "./clock.ts";
import type { Authority } from "./iam/authority.ts";
import type { RunningFunction } from "./lambda/function.ts";
import type { Resolver, Resource } from "./template/resolve.ts";
import { arnOfFunction } from "./template/wiring.ts";

type Route = {
  method: string;
  path: string;
  routeKey: string;
  functionArn: string;
  timeoutMs: number;
  sourceArn: string;
};

const longestIntegrationMs = 30_000;

/** Starts the HTTP API of the templates. `origin` is its address in the templates, `url` its address here. */
export async function startHttpEntry({
  resolver,
  authority,
  functions,
  metrics = createMetrics(),
  onProblem,
}: {
  resolver: Resolver;
  authority: Authority;
  functions: ReadonlyMap<string, RunningFunction>;
  metrics?: Metrics;
  onProblem: (problem: string) => void;
}): Promise<WebServer & { origin: string }> {
  const [api, ...others] = resolver.resources("AWS::ApiGatewayV2::Api");
  if (api === undefined || others.length > 0)
    throw new Error("The templates do not have just one HTTP API.");
  const { account } = api.stack;
  const routes = routesOf({ resolver, apiId: api.ref });
  const measure = measureEntry({ metrics, place: api.stack, apiId: api.ref });

  async function handle(call: Received): Promise<Response> {
    const beganMs = performance.now();
    const response = await answer(call);
    measure({ status: response.status, latencyMs: performance.now() - beganMs });
    return response;
  }

  async function answer(call: Received): Promise<Response> {
    const { request, target } = call;
    const [path] = target.split("?");
    const route = routes.find(
      (candidate) => candidate.method === request.method && candidate.path === path,
    );
    if (route === undefined) return Response.json({ message: "Not Found" }, { status: 404 });
    const { functionArn, routeKey, sourceArn, timeoutMs } = route;
    const decision = authority.check({
      principal: { type: "service", service: "apigateway.amazonaws.com" },
      action: "lambda:InvokeFunction",
      resource: functionArn,
      context: { "aws:sourcearn": sourceArn, "aws:sourceaccount": account },
    });
    if (!decision.allowed)
      return fail(`${api?.label} may not invoke ${functionArn}: ${decision.why}.`);
    const fn = functions.get(functionArn);
    if (fn === undefined) return fail(`${routeKey} leads to ${functionArn}, which is no function.`);
    // A timeout that starts while the clock moves would be over at once.
    await clock.settled();
    const event = eventOf({
      received: call,
      routeKey,
      requestContext: { apiId: path, accountId: account },
    });
    const timer = setTimeout(
      () => onProblem(`${fn.fn.label} answered later than API Gateway waits.`),
      timeoutMs,
    );
    const outcome = await fn.invoke(event);
    clearTimeout(timer);
    // A throttled function gives a 500 too: https://repost.aws/knowledge-center/api-gateway-internal-server-error
    return outcome.ok ? responseOf(outcome.payload) : internalError();
  }

  function fail(problem: string): Response {
    onProblem(problem);
    return internalError();
  }

  const server = await startWebServer({ handle });
  return { ...server, origin: api.attribute("ApiEndpoint") };
}

function internalError(): Response {
  return Response.json({ message: "Internal Server Error" }, { status: 500 });
}

function routesOf({ resolver, apiId }: { resolver: Resolver; apiId: string }): Route[] {
  const integrations = resolver.resources("AWS::ApiGatewayV2::Integration");
  return resolver.resources("AWS::ApiGatewayV2::Route").map(({ label, properties, stack }) => {
    const routeKey = String(properties.RouteKey);
    const [method = "", path = ""] = routeKey.split(" ");
    if (!/^[A-Z]+$/.test(method) || /[{$]/.test(path))
      throw new Error(`${label}: the rehearsal does not know routes such as ${routeKey}.`);
    const integration = integrations.find(({ ref }) => properties.Target === `integrations/${ref}`);
    if (integration === undefined)
      throw new Error(`${label} leads to ${String(properties.Target)}, which is nowhere.`);
    const { IntegrationUri, PayloadFormatVersion, TimeoutInMillis } = integration.properties;
    if (PayloadFormatVersion !== "2.0")
      throw new Error(`${integration.label} is not of payload version 2.0.`);
    const name =
      /functions\/([^/]+)\/invocations$/.exec(String(IntegrationUri))?.[1] ??
      String(IntegrationUri);
    return {
      method,
      path,
      routeKey,
      functionArn: arnOfFunction(resolver, name),
      timeoutMs: Math.min(Number(TimeoutInMillis ?? longestIntegrationMs), longestIntegrationMs),
      sourceArn: `arn:aws:execute-api:${stack.region}:${stack.account}:${apiId}/$default/${method}${path}`,
    };
  });
}

/** A Function URL that was created since October 2025 needs both: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html */
const needed = [
  { action: "lambda:InvokeFunctionUrl", context: { "lambda:functionurlauthtype": "AWS_IAM" } },
  { action: "lambda:InvokeFunction", context: { "lambda:invokedviafunctionurl": "true" } },
];

/** Starts a Function URL. It invokes the function only for callers that signed and that both policies allow. */
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

  async function handle(call: Received): Promise<Response> {
    const arrivedMs = Date.now();
    await clock.settled();
    const { accessKeyId } = signedBy(call);
    const caller = callerOf(accessKeyId);
    if (caller === undefined) return refuse(`Someone unknown called the URL of ${label}.`);
    const bad = sigv4ProblemAt({
      received: call,
      credentials: caller.credentials,
      service: "lambda",
      region,
      arrivedMs,
    });
    if (bad !== undefined)
      return refuse(`${caller.name} signed the call of ${label} wrongly: ${bad}.`);
    const principal = { type: "role", arn: caller.roleArn, account: caller.account } as const;
    for (const { action, context } of needed) {
      const decision = authority.check({ principal, action, resource: arn, context });
      if (!decision.allowed)
        return refuse(`${caller.name} may not ${action} on ${arn}: ${decision.why}.`);
    }
    calls.push({
      action: "lambda:InvokeFunctionUrl",
      resources: [arn],
      caller: caller.name,
      kind: caller.kind,
    });
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
    const outcome = await fn.invoke(
      eventOf({ received: call, routeKey: "$default", requestContext: { authorizer: { iam } } }),
    );
    if (outcome.ok) return responseOf(outcome.payload);
    // Throttling gives a 429: https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html
    const createThrottling = {
      Reason: "ConcurrentInvocationLimitExceeded",
      Message: outcome.error,
    };
    if (outcome.isThrottled) return Response.json(createThrottling, { status: 429 });
    return new Response("Internal Server Error", { status: 502 });
  }

  function refuse(problem: string): Response {
    onProblem(problem);
    return Response.json({ Message: "Forbidden" }, { status: 403 });
  }

  return startWebServer({ handle });
}

/**
 * Makes an event of payload version 2.0, as API Gateway and Function URLs do.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
function eventOf({
  received: { request, target, body },
  routeKey,
  requestContext,
}: {
  received: Received;
  routeKey: string;
  requestContext: Record<string, unknown>;
}) {
  const [rawPath = "/", rawQueryString = ""] = target.split("?");
  const isText = /^(text\/|application\/(json|javascript|xml)|application\/[\w.-]+\+json)/.test(
    request.headers.get("content-type") ?? "",
  );
  const bytes = Buffer.from(body);
  const isEmpty = bytes.byteLength === 0;
  return {
    version: "2.0",
    routeKey,
    rawPath,
    rawQueryString,
    headers: Object.fromEntries(request.headers),
    requestContext: {
      http: {
        method: request.method,
        path: rawPath,
        protocol: "HTTP/1.1",
        sourceIp: "127.0.0.1",
        userAgent: "",
      },
      routeKey,
      stage: "$default",
      timeEpoch: Date.now(),
      ...requestContext,
    },
    ...(!isEmpty && { body: bytes.toString(isText ? "utf8" : "base64") }),
    isBase64Encoded: !isEmpty && !isText,
  };
}

/** A function may also answer with a bare value, which is then the body. */
function responseOf(payload: unknown): Response {
  if (typeof payload !== "object" || payload === null || !("statusCode" in payload))
    return Response.json(payload);
  const { statusCode, headers, body, isBase64Encoded } = payload as {
    statusCode: number;
    headers?: Record<string, string>;
    body?: string;
    isBase64Encoded?: boolean;
  };
  const bytes = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  return new Response(bytes.byteLength === 0 ? null : bytes, {
    status: statusCode,
    headers: headers ?? {},
  });
}
