/** The one public resource: an HTTP API that leads Slack's events to the ingress and, where there is one, browsers to the installation flow. */
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import {
  type CfnStage,
  HttpApi,
  HttpMethod,
  type HttpRoute,
  HttpStage,
  LogGroupLogDestination,
} from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { removalPolicy } from "./zone-key.ts";

/** People install an app now and then. More must not use up what is there for events. */
const installLimit = { ThrottlingRateLimit: 2, ThrottlingBurstLimit: 5 };

const slackEventsPath = "/slack/events";
const installPaths = ["/slack/install", "/slack/oauth_redirect"];

/** With the address for Slack. */
export function createSlackEntry(
  scope: Construct,
  {
    ingress,
    installFlow,
    logRetentionDays,
    production,
    eventsPerSecond,
    eventBurst,
  }: {
    ingress: IFunction;
    installFlow: IFunction | undefined;
    logRetentionDays: number;
    production: boolean;
    /** The limit of all routes together. More is hardly Slack, and must not take all of Lambda. */
    eventsPerSecond: number;
    eventBurst: number;
  },
): { eventsUrl: string; api: HttpApi } {
  const api = new HttpApi(scope, "Entry", { createDefaultStage: false });
  const routes = api.addRoutes({
    path: slackEventsPath,
    methods: [HttpMethod.POST],
    integration: new HttpLambdaIntegration("Ingress", ingress),
  });
  for (const route of routes) {
    acknowledge(route, {
      findings: ["AwsSolutions-APIG4"],
      reason: "Slack proves itself by the signature over the body, which the ingress checks before anything else.",
    });
  }
  const installRoutes = installFlow === undefined ? [] : addInstallRoutes(api, installFlow);
  const logGroup = new LogGroup(scope, "EntryLogs", {
    retention: logRetentionDays,
    removalPolicy: removalPolicy({ production }),
  });
  const stage = new HttpStage(scope, "EntryStage", {
    httpApi: api,
    autoDeploy: true,
    throttle: { rateLimit: eventsPerSecond, burstLimit: eventBurst },
    accessLogSettings: { destination: new LogGroupLogDestination(logGroup), format: AccessLogFormat.custom(logLine) },
  });
  limitRoutes(stage, installRoutes);
  return { eventsUrl: `${stage.url.replace(/\/$/, "")}${slackEventsPath}`, api };
}

function addInstallRoutes(api: HttpApi, installFlow: IFunction): HttpRoute[] {
  const integration = new HttpLambdaIntegration("InstallFlow", installFlow);
  const routes = installPaths.flatMap((path) => api.addRoutes({ path, methods: [HttpMethod.GET], integration }));
  for (const route of routes) {
    acknowledge(route, {
      findings: ["AwsSolutions-APIG4"],
      reason: "Whoever may install the app says Slack; the flow checks that the browser is the one that began it.",
    });
  }
  return routes;
}

/** The stage names the routes by their keys, so they must be there before it. */
function limitRoutes(stage: HttpStage, routes: HttpRoute[]): void {
  if (routes.length === 0) return;
  const limits = installPaths.map((path) => [`${HttpMethod.GET} ${path}`, installLimit]);
  (stage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(limits);
  stage.node.addDependency(...routes);
}

/** The outcome of the request and where it came from. An address is personal data; it is kept as long as the log. */
const logLine = JSON.stringify({
  request_id: "$context.requestId",
  time: "$context.requestTimeEpoch",
  source_address: "$context.identity.sourceIp",
  status: "$context.status",
  duration_ms: "$context.responseLatency",
  bytes: "$context.responseLength",
  integration_status: "$context.integrationStatus",
});
