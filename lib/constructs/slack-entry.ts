/** The one public resource: an HTTP API that leads Slack's events to the ingress and, where there is one, browsers to the installation flow. */
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import { HttpApi, HttpMethod, HttpStage, LogGroupLogDestination } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { removalOf } from "./removal.ts";

/** Slack sends at most 30,000 events an hour to an app and workspace; more is no Slack, and must not take all of Lambda. */
const ratePerSecond = 50;
const burst = 200;

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
  }: { ingress: IFunction; installFlow: IFunction | undefined; logRetentionDays: number; production: boolean },
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
  if (installFlow !== undefined) addInstallRoutes(api, installFlow);
  const logGroup = new LogGroup(scope, "EntryLogs", {
    retention: logRetentionDays,
    removalPolicy: removalOf({ production }),
  });
  const stage = new HttpStage(scope, "EntryStage", {
    httpApi: api,
    autoDeploy: true,
    throttle: { rateLimit: ratePerSecond, burstLimit: burst },
    accessLogSettings: { destination: new LogGroupLogDestination(logGroup), format: AccessLogFormat.custom(logLine) },
  });
  return { eventsUrl: `${stage.url.replace(/\/$/, "")}${slackEventsPath}`, api };
}

function addInstallRoutes(api: HttpApi, installFlow: IFunction): void {
  const integration = new HttpLambdaIntegration("InstallFlow", installFlow);
  for (const route of installPaths.flatMap((path) => api.addRoutes({ path, methods: [HttpMethod.GET], integration }))) {
    acknowledge(route, {
      findings: ["AwsSolutions-APIG4"],
      reason: "Whoever may install the app says Slack; the flow checks that the browser is the one that began it.",
    });
  }
}

/** Nothing of the request but its outcome. */
const logLine = JSON.stringify({
  request_id: "$context.requestId",
  time: "$context.requestTimeEpoch",
  status: "$context.status",
  duration_ms: "$context.responseLatency",
  bytes: "$context.responseLength",
  integration_status: "$context.integrationStatus",
});
