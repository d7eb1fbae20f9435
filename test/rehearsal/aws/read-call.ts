/** Which action on which resource an HTTP request to AWS is. */
import type { Received } from "../../doubles/web-server.ts";
import type { Context } from "../iam/conditions.ts";
import { readQueryCall } from "./read-query-call.ts";

export type AwsCall = {
  /** The signing name of the service. */
  service: string;
  /** As policies name it, such as `sqs:SendMessage`. */
  action: string;
  /** All that must be permitted, as ARNs. */
  resources: string[];
  input: Record<string, unknown>;
  /** What conditions of policies may ask about the call. */
  context?: Context;
};

/** Where what a call names by name belongs. */
type Place = { account: string; region: string };

const servicesByTarget: Record<string, string> = {
  AmazonSQS: "sqs",
  DynamoDB_20120810: "dynamodb",
  secretsmanager: "secretsmanager",
  AmazonSSM: "ssm",
  GraniteServiceVersion20100801: "monitoring",
  Logs_20140328: "logs",
};

/** Where policies name a service otherwise than signatures do. */
const prefixes: Record<string, string> = { monitoring: "cloudwatch" };

/** Undefined for a request that the rehearsal cannot place. */
export function readCall({
  received,
  service,
  place,
  endpointArn,
  secretArn,
}: {
  received: Received;
  /** For which the request is signed. Most say in a header what they are. */
  service: string;
  place: Place;
  endpointArn: (request: { runtimeArn: string; qualifier: string }) => string;
  secretArn: (id: string) => string;
}): AwsCall | undefined {
  const { request, target, body } = received;
  if (service === "s3") return readS3Call(received);
  const [prefix = "", operation = ""] = (request.headers.get("x-amz-target") ?? "").split(".");
  const named = servicesByTarget[prefix];
  if (named !== undefined) {
    const input = JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>;
    return {
      service: named,
      action: `${prefixes[named] ?? named}:${operation}`,
      resources: resourcesOf({ service: named, input, place, secretArn }),
      input,
    };
  }
  const [path = "", query] = target.split("?");
  if (path === "/") return readQueryCall({ received, ...place });
  const [, model] = /^\/model\/([^/]+)\/converse-stream$/.exec(path) ?? [];
  if (model !== undefined) return converse({ modelId: decodeURIComponent(model), place, body });
  if (/^\/2016-08-19\/account-settings\/?$/.test(path) && request.method === "GET") {
    return { service: "lambda", action: "lambda:GetAccountSettings", resources: ["*"], input: {} };
  }
  const [, fn] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(path) ?? [];
  if (fn !== undefined && request.method === "POST") {
    const event: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    const qualifier = new URLSearchParams(query).get("Qualifier");
    const resources = [`${decodeURIComponent(fn)}${qualifier === null ? "" : `:${qualifier}`}`];
    return { service: "lambda", action: "lambda:InvokeFunction", resources, input: { event } };
  }
  const [, runtime, verb] = /^\/runtimes\/([^/]+)\/(invocations|stopruntimesession)$/.exec(path) ?? [];
  if (runtime === undefined || request.method !== "POST") return undefined;
  const runtimeArn = decodeURIComponent(runtime);
  const qualifier = new URLSearchParams(query).get("qualifier") ?? "DEFAULT";
  return {
    service: "bedrock-agentcore",
    action: `bedrock-agentcore:${verb === "invocations" ? "InvokeAgentRuntime" : "StopRuntimeSession"}`,
    resources: [runtimeArn, endpointArn({ runtimeArn, qualifier })],
    input: { runtimeArn, qualifier },
  };
}

/** With the bucket in the path: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html and its like name the actions. */
function readS3Call({ request: { method }, target }: Received): AwsCall | undefined {
  const operation = { PUT: "PutObject", GET: "GetObject" }[method];
  const name = decodeURIComponent((target.split("?")[0] ?? "").slice(1));
  if (operation === undefined || !name.includes("/")) return undefined;
  return { service: "s3", action: `s3:${operation}`, resources: [`arn:aws:s3:::${name}`], input: {} };
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html names the action that it needs. */
function converse({ modelId, place, body }: { modelId: string; place: Place; body: Uint8Array }): AwsCall {
  const [, behindProfile] = /^(?:us|eu|apac|global)\.(.+)$/.exec(modelId) ?? [];
  const model = `arn:aws:bedrock:${place.region}::foundation-model/${behindProfile ?? modelId}`;
  const profile = `arn:aws:bedrock:${place.region}:${place.account}:inference-profile/${modelId}`;
  return {
    service: "bedrock",
    action: "bedrock:InvokeModelWithResponseStream",
    resources: behindProfile === undefined ? [model] : [profile, model],
    input: JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>,
  };
}

function resourcesOf({
  service,
  input,
  place,
  secretArn,
}: {
  service: string;
  input: Record<string, unknown>;
  place: Place;
  secretArn: (id: string) => string;
}): string[] {
  const arn = (resource: string) => `arn:aws:${service}:${place.region}:${place.account}:${resource}`;
  switch (service) {
    case "sqs": {
      const [account, name] = new URL(String(input.QueueUrl)).pathname.split("/").filter(Boolean);
      return [`arn:aws:sqs:${place.region}:${String(account)}:${String(name)}`];
    }
    case "secretsmanager":
      return [secretArn(String(input.SecretId))];
    case "ssm":
      return [arn(`parameter/${String(input.Name).replace(/^\//, "")}`)];
    case "monitoring":
      return ["*"];
    case "logs":
      return [arn(`log-group:${String(input.logGroupName)}`)];
    case "dynamodb": {
      const tables =
        input.RequestItems === undefined ? [String(input.TableName)] : Object.keys(input.RequestItems as object);
      const index = input.IndexName === undefined ? "" : `/index/${String(input.IndexName)}`;
      return tables.map((table) => `${table.startsWith("arn:") ? table : arn(`table/${table}`)}${index}`);
    }
  }
  throw new Error(`The rehearsal does not know the resources of ${service}.`);
}
