/** The only public resource: an HTTP API that routes Slack's events to the ingress, and browsers to the installation flow. */

import { installKeyPrefix } from "@sekisho/runtime/engine/aws/table.ts";
import { Duration } from "aws-cdk-lib";
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
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { formatInstallationsPrefix } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";
import { createNodeFunction } from "./node-function.ts";
import {
  acknowledge,
  keyPermission,
  permit,
  permitStoreSecretsBelow,
  secretsPermission,
} from "./permissions.ts";
import { removalPolicy } from "./storage.ts";

/** A flood of installations must not use up the rate limit of events. Real installations are rare. */
const installLimit = { ThrottlingRateLimit: 2, ThrottlingBurstLimit: 5 };

const slackEventsPath = "/slack/events";
const installPaths = ["/slack/install", "/slack/oauth_redirect"];

/** Returns the API and the address for Slack. */
export function createSlackEntry(
  scope: Construct,
  {
    stage,
    ingress,
    installFlow,
  }: Pick<StageSettings, "stage"> & { ingress: IFunction; installFlow?: IFunction },
): { eventsUrl: string; api: HttpApi } {
  const { eventsPerSecond, eventBurst } = stage.scale;
  const api = new HttpApi(scope, "Entry", { createDefaultStage: false });
  addRoutes(api, {
    paths: [slackEventsPath],
    method: HttpMethod.POST,
    integration: new HttpLambdaIntegration("Ingress", ingress),
    reason: "The ingress checks Slack's signature over the body before anything else.",
  });
  const installRoutes =
    installFlow === undefined
      ? []
      : addRoutes(api, {
          paths: installPaths,
          method: HttpMethod.GET,
          integration: new HttpLambdaIntegration("InstallFlow", installFlow),
          reason:
            "Slack decides who may install. The flow checks that the same browser began and ends the installation.",
        });
  const logGroup = new LogGroup(scope, "EntryLogs", {
    retention: stage.logRetentionDays,
    removalPolicy: removalPolicy(stage),
  });
  const apiStage = new HttpStage(scope, "EntryStage", {
    httpApi: api,
    autoDeploy: true,
    // A limit for all routes together, so that a flood cannot use up the account's concurrency.
    throttle: { rateLimit: eventsPerSecond, burstLimit: eventBurst },
    accessLogSettings: {
      destination: new LogGroupLogDestination(logGroup),
      format: AccessLogFormat.custom(logLine),
    },
  });
  if (installRoutes.length > 0) {
    const limits = installPaths.map((path) => [`${HttpMethod.GET} ${path}`, installLimit]);
    (apiStage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(limits);
    // The settings name routes by their keys, so the routes must exist before the stage.
    apiStage.node.addDependency(...installRoutes);
  }
  return { eventsUrl: `${apiStage.url.replace(/\/$/, "")}${slackEventsPath}`, api };
}

type RouteProps = {
  paths: string[];
  method: HttpMethod;
  integration: HttpLambdaIntegration;
  reason: string;
};

function addRoutes(api: HttpApi, { paths, method, integration, reason }: RouteProps): HttpRoute[] {
  const routes = paths.flatMap((path) => api.addRoutes({ path, methods: [method], integration }));
  for (const route of routes) acknowledge(route, { findings: ["AwsSolutions-APIG4"], reason });
  return routes;
}

/** One line of the access log. The source address is personal data, which is kept as long as the log. */
const logLine = JSON.stringify({
  request_id: "$context.requestId",
  time: "$context.requestTimeEpoch",
  source_address: "$context.identity.sourceIp",
  status: "$context.status",
  duration_ms: "$context.responseLatency",
  bytes: "$context.responseLength",
  integration_status: "$context.integrationStatus",
});

/** Longer than the time limits of Slack's and Secrets Manager's calls together. */
const installTimeout = Duration.seconds(20);
const installMemoryMb = 256;

type InstallFlowProps = {
  settings: StageSettings;
  clientId: string;
  clientSecret: string;
  table: Table;
  key: IKey;
};

/**
 * The function of Slack's OAuth flow. Its role stores tokens but cannot read them. In the zone's table it writes only its own
 * items: the used OAuth states, and the number of installations per day.
 */
export function createInstallFlow(
  scope: Construct,
  { settings, clientId, clientSecret, table, key }: InstallFlowProps,
): IFunction {
  const prefix = formatInstallationsPrefix(settings);
  const flow = createNodeFunction(scope, "InstallFlow", {
    settings,
    description: "Installs the Slack app into a workspace",
    bundle: "installFlow",
    environment: {
      SEKISHO_CLIENT_ID: clientId,
      SEKISHO_CLIENT_SECRET: clientSecret,
      SEKISHO_INSTALLATIONS_PREFIX: prefix,
      SEKISHO_TABLE: table.tableName,
      SEKISHO_SLACK_API_URL: settings.config.slack.apiUrl,
    },
    timeout: installTimeout,
    memoryMb: installMemoryMb,
  });
  permit(
    flow,
    secretsPermission(scope, [clientSecret]),
    new PolicyStatement({
      actions: ["dynamodb:UpdateItem"],
      resources: [table.tableArn],
      conditions: {
        "ForAllValues:StringLike": { "dynamodb:LeadingKeys": [`${installKeyPrefix}*`] },
      },
    }),
    keyPermission(key, { sends: false, through: ["dynamodb"] }),
  );
  if (flow.role !== undefined) permitStoreSecretsBelow(flow.role, prefix);
  return flow;
}
