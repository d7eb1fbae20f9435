/** The HTTP API of the templates: its routes lead to functions, where a permission lets them. */
import { type Received, startWebServer, type WebServer } from "../doubles/web-server.ts";
import { createMetrics, type Metrics } from "./aws/metrics.ts";
import { clock } from "./clock.ts";
import { eventOf, responseOf } from "./http-event.ts";
import type { Authority } from "./iam/authority.ts";
import type { RunningFunction } from "./lambda/function.ts";
import { measureEntry } from "./measuring.ts";
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

/** `origin` is what the templates believe it to be; `url` is where it is. */
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
  if (api === undefined || others.length > 0) throw new Error("The templates do not have just one HTTP API.");
  const routes = routesOf({ resolver, apiId: resolver.ref(api) });

  const measure = measureEntry({ metrics, place: api.stack, apiId: resolver.ref(api) });

  async function handle(received: Received): Promise<Response> {
    const beganMs = performance.now();
    const response = await answer(received);
    measure({ status: response.status, latencyMs: performance.now() - beganMs });
    return response;
  }

  async function answer(received: Received): Promise<Response> {
    const { request, target } = received;
    const [path] = target.split("?");
    const route = routes.find((candidate) => candidate.method === request.method && candidate.path === path);
    if (route === undefined) return Response.json({ message: "Not Found" }, { status: 404 });
    const { functionArn, routeKey, sourceArn, timeoutMs } = route;
    const decision = authority.check({
      principal: { type: "service", service: "apigateway.amazonaws.com" },
      action: "lambda:InvokeFunction",
      resource: functionArn,
      context: { "aws:sourcearn": sourceArn, "aws:sourceaccount": api?.stack.account ?? "" },
    });
    if (!decision.allowed) return fail(`${api?.label} may not invoke ${functionArn}: ${decision.why}.`);
    const fn = functions.get(functionArn);
    if (fn === undefined) return fail(`${routeKey} leads to ${functionArn}, which is no function.`);
    // The time-out of what begins while time moves would be over at once.
    await clock.settled();
    const event = eventOf({ received, routeKey, requestContext: { apiId: path, accountId: api?.stack.account } });
    const timer = setTimeout(() => onProblem(`${fn.fn.label} answered later than API Gateway waits.`), timeoutMs);
    const outcome = await fn.invoke(event);
    clearTimeout(timer);
    // A throttled function too: https://repost.aws/knowledge-center/api-gateway-internal-server-error
    return outcome.ok
      ? responseOf(outcome.payload)
      : Response.json({ message: "Internal Server Error" }, { status: 500 });
  }

  function fail(problem: string): Response {
    onProblem(problem);
    return Response.json({ message: "Internal Server Error" }, { status: 500 });
  }

  const server = await startWebServer({ handle });
  return { ...server, origin: resolver.attribute(api, "ApiEndpoint") };
}

function routesOf({ resolver, apiId }: { resolver: Resolver; apiId: string }): Route[] {
  const integrations: ReadonlyMap<string, Resource> = new Map(
    resolver
      .resources("AWS::ApiGatewayV2::Integration")
      .map((integration) => [`integrations/${resolver.ref(integration)}`, integration] as const),
  );
  return resolver.resources("AWS::ApiGatewayV2::Route").map(({ label, properties, stack }) => {
    const routeKey = String(properties.RouteKey);
    const [method = "", path = ""] = routeKey.split(" ");
    if (!/^[A-Z]+$/.test(method) || /[{$]/.test(path))
      throw new Error(`${label}: the rehearsal does not know routes such as ${routeKey}.`);
    const integration = integrations.get(String(properties.Target));
    if (integration === undefined) throw new Error(`${label} leads to ${String(properties.Target)}, which is nowhere.`);
    const { IntegrationUri, PayloadFormatVersion, TimeoutInMillis } = integration.properties;
    if (PayloadFormatVersion !== "2.0") throw new Error(`${integration.label} is not of payload version 2.0.`);
    const name = /functions\/([^/]+)\/invocations$/.exec(String(IntegrationUri))?.[1] ?? String(IntegrationUri);
    return {
      method,
      path,
      routeKey,
      functionArn: arnOfFunction({ resolver, name }),
      timeoutMs: Math.min(Number(TimeoutInMillis ?? longestIntegrationMs), longestIntegrationMs),
      sourceArn: `arn:aws:execute-api:${stack.region}:${stack.account}:${apiId}/$default/${method}${path}`,
    };
  });
}
