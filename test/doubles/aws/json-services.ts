/**
 * Secrets Manager, Systems Manager, KMS, STS, IAM, Lambda, CloudFormation and a task table at one address, as far as the command
 * line uses them. Calls to SQS and DynamoDB go to their emulators if there are any. Every request must have a valid
 * signature for its service.
 */
import type { DynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { type KnownCredentials, sigv4Problem } from "../sigv4-check.ts";
import { type Received, startWebServer, type WebServer } from "../web-server.ts";
import { openCountingDynamoDb } from "./counting-dynamodb.ts";
import {
  callTable,
  createFederation,
  createSecrets,
  describeStacks,
  type Functions,
  invoke,
  invokedFunction,
  lambdaError,
  type Stacks,
} from "./json-services-handlers.ts";
import { jsonError, xml, xmlError } from "./json-services-wire.ts";
import { createKms } from "./kms.ts";
import { createParameters } from "./parameters.ts";

export type ServiceCall = { action: string; region: string; body: string };

export type AwsServices = Awaited<ReturnType<typeof startAwsServices>>;

const credentials: KnownCredentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "secret-of-the-person",
};

const servicesByTarget: Record<string, string> = {
  secretsmanager: "secretsmanager",
  AmazonSSM: "ssm",
  AmazonSQS: "sqs",
  DynamoDB_20120810: "dynamodb",
  TrentService: "kms",
};

/** Services of the query protocol, whose form names only the action. The rest is STS. */
const queryServices: Record<string, string> = {
  DescribeStacks: "cloudformation",
  EnableOutboundWebIdentityFederation: "iam",
  GetOutboundWebIdentityFederationInfo: "iam",
};

export async function startAwsServices({
  account,
  sqsUrl,
  dynamoUrl,
}: {
  account: string;
  sqsUrl?: string;
  /** Without it, the only table is `tasks`. */
  dynamoUrl?: string;
}) {
  const secrets = createSecrets();
  const parameters = createParameters();
  const kms = createKms({ account });
  const stacks: Stacks = new Map();
  const federation = createFederation();
  const { client: table, close: closeTable }: { client: DynamoDb; close(): void } =
    openCountingDynamoDb();
  const functions: Functions = new Map();
  const calls: ServiceCall[] = [];
  const refusals = new Map<string, { status: number; name: string }>();
  const unanswered = new Set<string>();

  async function handle(call: Received): Promise<Response> {
    const { service, action, isJson, body, functionArn } = readCall(call);
    const [, region = ""] =
      /\/\d{8}\/([^/]+)\//.exec(call.request.headers.get("authorization") ?? "") ?? [];
    const refuse = service === "lambda" ? lambdaError : isJson ? jsonError : xmlError;
    const problem = sigv4Problem({ received: call, credentials, service, region });
    if (problem !== undefined)
      return refuse({ status: 403, name: "SignatureDoesNotMatch", message: problem });
    calls.push({ action: `${service}:${action}`, region, body });
    const refusal = refusals.get(`${service}:${action}`);
    if (refusal !== undefined) return refuse({ ...refusal, message: `refused: ${body}` });
    if (unanswered.has(`${service}:${action}`)) return new Promise(() => {});
    if (service === "sqs" && sqsUrl !== undefined) return forward({ received: call, url: sqsUrl });
    if (service === "dynamodb" && dynamoUrl !== undefined)
      return forward({ received: call, url: dynamoUrl });
    switch (service) {
      case "secretsmanager":
        return secrets.handle(action, JSON.parse(body));
      case "kms":
        return kms.handle(action, JSON.parse(body));
      case "ssm":
        return parameters.handle(action, JSON.parse(body));
      case "dynamodb":
        return callTable(table, action, JSON.parse(body));
      case "sts":
        return xml({
          action,
          result: `<Account>${services.account}</Account><Arn>arn:aws:iam::${services.account}:user/operator</Arn>`,
        });
      case "lambda":
        return invoke(functions, functionArn, body);
      case "iam":
        return federation.handle(action);
      case "cloudformation":
        return describeStacks(stacks, new URLSearchParams(body).get("StackName") ?? "");
    }
    return refuse({ status: 400, name: "UnknownOperationException", message: action });
  }

  const server: WebServer = await startWebServer({ handle });
  const env: Record<string, string> = {
    AWS_ENDPOINT_URL: server.url,
    AWS_MAX_ATTEMPTS: "1",
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
  const services = {
    /** For a command: the credentials, and AWS's address. */
    env,
    /** The account of the credentials. */
    account,
    secrets,
    parameters,
    kms,
    stacks,
    federation,
    /** The table `tasks`, unless there is an emulator. */
    table,
    functions,
    /** All calls, in order. */
    calls,
    /** By `service:Action`: answers with this error, whose text repeats the request, as AWS's own may. */
    refusals,
    /** By `service:Action`: never answers. */
    unanswered,
    async close() {
      await server.close();
      closeTable();
    },
  };
  return services;
}

/** The JSON protocol names the operation in a header, and the query protocol in its form. */
function readCall({ request, target, body }: Received) {
  const functionArn = invokedFunction(request.method, target) ?? "";
  const text = Buffer.from(body).toString("utf8");
  const [prefix = "", action = ""] = (request.headers.get("x-amz-target") ?? "").split(".");
  const service = servicesByTarget[prefix];
  if (service !== undefined) return { service, action, isJson: true, body: text, functionArn };
  if (functionArn !== "")
    return { service: "lambda", action: "Invoke", isJson: true, body: text, functionArn };
  const form = new URLSearchParams(text);
  const name = form.get("Action") ?? "";
  return {
    service: queryServices[name] ?? "sts",
    action: name,
    isJson: false,
    body: text,
    functionArn,
  };
}

async function forward({
  received: { request, body },
  url,
}: {
  received: Received;
  url: string;
}): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of ["host", "connection", "content-length"]) headers.delete(name);
  const answer = await fetch(url, { method: "POST", headers, body, signal: request.signal });
  const text = await answer.text();
  const type = answer.headers.get("content-type") ?? "application/x-amz-json-1.0";
  return new Response(text, { status: answer.status, headers: { "content-type": type } });
}
