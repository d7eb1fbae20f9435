/**
 * Secrets Manager, Systems Manager, STS, IAM, Lambda and CloudFormation at one address over a real socket, as far as the command line
 * uses them, and a task table. What is for SQS, and for DynamoDB where it has one, goes on to its emulator. Every request
 * must be signed right for its service.
 */

import { type KnownCredentials, sigv4Problem } from "../sigv4-check.ts";
import { type Received, startWebServer, type WebServer } from "../web-server.ts";
import { createFederation, type Federation } from "./json-services-federation.ts";
import { type Functions, invoke, invokedFunction, lambdaError } from "./json-services-lambda.ts";
import { createParameters, type Parameters } from "./json-services-parameters.ts";
import { createSecrets, type Secrets } from "./json-services-secrets.ts";
import { describeStacks, type Stacks } from "./json-services-stacks.ts";
import { getTaskItem, type TaskStates } from "./json-services-tasks.ts";
import { jsonError, xml, xmlError } from "./json-services-wire.ts";

export type ServiceCall = { action: string; region: string; body: string };

export type AwsServices = {
  /** For a command: credentials, and where AWS is. */
  env: Record<string, string>;
  /** The account that the credentials are of. */
  account: string;
  secrets: Secrets;
  parameters: Parameters;
  stacks: Stacks;
  federation: Federation;
  tasks: TaskStates;
  functions: Functions;
  /** All calls so far, in order. */
  calls: ServiceCall[];
  /** By `service:Action`: the answer is this error, whose text repeats the request as AWS's own may. */
  refusals: Map<string, { status: number; name: string }>;
  /** By `service:Action`: these are never answered. */
  unanswered: Set<string>;
  close(): Promise<void>;
};

const credentials: KnownCredentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret-of-the-person" };

const servicesByTarget: Record<string, string> = {
  secretsmanager: "secretsmanager",
  AmazonSSM: "ssm",
  AmazonSQS: "sqs",
  DynamoDB_20120810: "dynamodb",
};

/** Of the query protocol, where the form says no service; the rest is STS. */
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
  /** Without it `tasks` is the table. */
  dynamoUrl?: string;
}): Promise<AwsServices> {
  const secrets = createSecrets();
  const parameters = createParameters();
  const stacks: Stacks = new Map();
  const federation = createFederation();
  const tasks: TaskStates = new Map();
  const functions: Functions = new Map();
  const calls: ServiceCall[] = [];
  const refusals: AwsServices["refusals"] = new Map();
  const unanswered = new Set<string>();

  async function handle(received: Received): Promise<Response> {
    const { service, action, isJson, body, functionArn } = readCall(received);
    const [, region = ""] = /\/\d{8}\/([^/]+)\//.exec(received.request.headers.get("authorization") ?? "") ?? [];
    const refuse = service === "lambda" ? lambdaError : isJson ? jsonError : xmlError;
    const problem = sigv4Problem({ received, credentials, service, region });
    if (problem !== undefined) return refuse({ status: 403, name: "SignatureDoesNotMatch", message: problem });
    calls.push({ action: `${service}:${action}`, region, body });
    const refusal = refusals.get(`${service}:${action}`);
    if (refusal !== undefined) return refuse({ ...refusal, message: `refused: ${body}` });
    if (unanswered.has(`${service}:${action}`)) return new Promise(() => {});
    if (service === "sqs" && sqsUrl !== undefined) return forward({ received, url: sqsUrl });
    if (service === "dynamodb" && dynamoUrl !== undefined) return forward({ received, url: dynamoUrl });
    switch (service) {
      case "secretsmanager":
        return secrets.handle({ action, input: JSON.parse(body) });
      case "ssm":
        return parameters.handle({ action, input: JSON.parse(body) });
      case "dynamodb":
        return getTaskItem({ tasks, action, input: JSON.parse(body) });
      case "sts":
        return xml({
          action,
          result: `<Account>${services.account}</Account><Arn>arn:aws:iam::${services.account}:user/operator</Arn>`,
        });
      case "lambda":
        return invoke({ functions, arn: functionArn, body });
      case "iam":
        return federation.handle({ action });
      case "cloudformation":
        return describeStacks({ stacks, stack: new URLSearchParams(body).get("StackName") ?? "" });
    }
    return refuse({ status: 400, name: "UnknownOperationException", message: action });
  }

  const server: WebServer = await startWebServer({ handle });
  const env = {
    AWS_ENDPOINT_URL: server.url,
    AWS_MAX_ATTEMPTS: "1",
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
  const services: AwsServices = {
    env,
    account,
    secrets,
    parameters,
    stacks,
    federation,
    tasks,
    functions,
    calls,
    refusals,
    unanswered,
    close: server.close,
  };
  return services;
}

/** The JSON protocol names the operation in a header, the query protocol in the form that is its body. */
function readCall({ request, target, body }: Received) {
  const functionArn = invokedFunction({ method: request.method, target }) ?? "";
  const text = Buffer.from(body).toString("utf8");
  const [prefix = "", action = ""] = (request.headers.get("x-amz-target") ?? "").split(".");
  const service = servicesByTarget[prefix];
  if (service !== undefined) return { service, action, isJson: true, body: text, functionArn };
  if (functionArn !== "") return { service: "lambda", action: "Invoke", isJson: true, body: text, functionArn };
  const form = new URLSearchParams(text);
  const name = form.get("Action") ?? "";
  return { service: queryServices[name] ?? "sts", action: name, isJson: false, body: text, functionArn };
}

async function forward({ received: { request, body }, url }: { received: Received; url: string }): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of ["host", "connection", "content-length"]) headers.delete(name);
  const answer = await fetch(url, { method: "POST", headers, body, signal: request.signal });
  const text = await answer.text();
  const type = answer.headers.get("content-type") ?? "application/x-amz-json-1.0";
  return new Response(text, { status: answer.status, headers: { "content-type": type } });
}
