/** Reads which action on which resource an HTTP request to AWS is. */
import type { Received } from "../../../doubles/web-server.ts";
import type { Context } from "../iam/conditions.ts";
import { secretArn } from "./stores.ts";

export type AwsCall = {
  /** The signing name of the service. */
  service: string;
  /** As policies name it, such as `sqs:SendMessage`. */
  action: string;
  /** ARNs. The caller needs the permission for each. */
  resources: string[];
  /** The permissions that it needs instead of one with the name of its action. */
  permissions?: string[];
  input: Record<string, unknown>;
  /** The condition keys of the call. */
  context?: Context;
};

/** The account and region of what a call names without an ARN. */
type Place = {
  account: string;
  region: string;
  /** The caller's own region, where its secrets are, whatever region it signed for. */
  homeRegion: string;
};

const servicesByTarget: Record<string, string> = {
  AmazonSQS: "sqs",
  DynamoDB_20120810: "dynamodb",
  secretsmanager: "secretsmanager",
  AmazonSSM: "ssm",
  GraniteServiceVersion20100801: "monitoring",
  Logs_20140328: "logs",
};

/** The actions on a runtime, by the method and the rest of the path. */
const runtimeActions: Readonly<Record<string, string>> = {
  "POST invocations": "InvokeAgentRuntime",
  "POST stopruntimesession": "StopRuntimeSession",
  "GET invocations/.well-known/agent-card.json": "GetAgentCard",
};

/** Services that policies name differently from signatures. */
const prefixes: Record<string, string> = { monitoring: "cloudwatch" };

/** Returns undefined for a request that the rehearsal does not know. */
export function readCall({
  received: requests,
  service,
  place,
  endpointArn,
}: {
  received: Received;
  /** The service that the request is signed for. */
  service: string;
  place: Place;
  endpointArn: (request: { runtimeArn: string; qualifier: string }) => string;
}): AwsCall | undefined {
  const { request, target, body } = requests;
  if (service === "s3") return readS3Call(requests);
  const [prefix = "", operation = ""] = (request.headers.get("x-amz-target") ?? "").split(".");
  const named = servicesByTarget[prefix];
  if (named !== undefined) {
    const input = JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>;
    const action = `${prefixes[named] ?? named}:${operation}`;
    if (operation === "TransactWriteItems")
      return readTransaction({ service: named, action, input, place });
    const context = named === "dynamodb" ? leadingKeysOf(input) : {};
    return {
      service: named,
      action,
      resources: resourcesOf({ service: named, input, place }),
      input,
      context,
    };
  }
  const [path = "", query] = target.split("?");
  if (path === "/") return readQueryCall({ received: requests, place });
  const [, model] = /^\/model\/([^/]+)\/converse-stream$/.exec(path) ?? [];
  if (model !== undefined) return converse({ modelId: decodeURIComponent(model), place, body });
  const [, fn] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(path) ?? [];
  if (fn !== undefined && request.method === "POST") {
    const event: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    const qualifier = new URLSearchParams(query).get("Qualifier");
    const resources = [`${decodeURIComponent(fn)}${qualifier === null ? "" : `:${qualifier}`}`];
    return { service: "lambda", action: "lambda:InvokeFunction", resources, input: { event } };
  }
  const [, runtime, verb = ""] = /^\/runtimes\/([^/]+)\/(.+)$/.exec(path) ?? [];
  const action = runtimeActions[`${request.method} ${verb}`];
  if (runtime === undefined || action === undefined) return undefined;
  const runtimeArn = decodeURIComponent(runtime);
  const qualifier = new URLSearchParams(query).get("qualifier") ?? "DEFAULT";
  return {
    service: "bedrock-agentcore",
    action: `bedrock-agentcore:${action}`,
    resources: [runtimeArn, endpointArn({ runtimeArn, qualifier })],
    input: { runtimeArn, qualifier },
  };
}

/**
 * A transaction needs the permissions of its writes:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
 */
function readTransaction({
  place,
  ...call
}: Pick<AwsCall, "service" | "action" | "input"> & { place: Place }): AwsCall {
  const items = call.input.TransactItems as Record<string, Record<string, unknown>>[];
  const writes = items.flatMap((item) => Object.entries(item));
  const resources = writes.flatMap(([, input]) =>
    resourcesOf({ service: call.service, input, place }),
  );
  const permissions = writes.map(([kind]) => `dynamodb:${kind}Item`);
  return { ...call, resources: [...new Set(resources)], permissions: [...new Set(permissions)] };
}

/** Reads a request with the bucket in its path. The actions are named in https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html and its like. */
function readS3Call({ request: { method }, target }: Received): AwsCall | undefined {
  const operation = { PUT: "PutObject", GET: "GetObject" }[method];
  const name = decodeURIComponent((target.split("?")[0] ?? "").slice(1));
  if (operation === undefined || !name.includes("/")) return undefined;
  return {
    service: "s3",
    action: `s3:${operation}`,
    resources: [`arn:aws:s3:::${name}`],
    input: {},
  };
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html names the permission. */
function converse({
  modelId,
  place,
  body,
}: {
  modelId: string;
  place: Place;
  body: Uint8Array;
}): AwsCall {
  const isApplicationProfile =
    /^arn:aws:bedrock:[a-z0-9-]+:\d{12}:application-inference-profile\/[a-z0-9]+$/.test(modelId);
  const [, behindProfile] = isApplicationProfile
    ? [modelId, "anthropic.claude-sonnet-4-5-20250929-v1:0"]
    : (/^(?:us|eu|apac|global)\.(.+)$/.exec(modelId) ?? []);
  const model = `arn:aws:bedrock:${place.region}::foundation-model/${behindProfile ?? modelId}`;
  const systemProfile = `arn:aws:bedrock:${place.region}:${place.account}:inference-profile/${modelId}`;
  const profile = isApplicationProfile ? modelId : systemProfile;
  return {
    service: "bedrock",
    action: "bedrock:InvokeModelWithResponseStream",
    ...(behindProfile === undefined
      ? { resources: [model] }
      : { resources: [profile, model], context: { "bedrock:inferenceprofilearn": profile } }),
    input: JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>,
  };
}

/** The key of a call of one item: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html */
function leadingKeysOf({ Key, Item }: Record<string, unknown>): Context {
  const { id } = Object(Key ?? Item) as { id?: { S?: string } };
  return id?.S === undefined ? {} : { "dynamodb:leadingkeys": [id.S] };
}

function resourcesOf({
  service,
  input,
  place,
}: {
  service: string;
  input: Record<string, unknown>;
  place: Place;
}): string[] {
  const arn = (resource: string) =>
    `arn:aws:${service}:${place.region}:${place.account}:${resource}`;
  switch (service) {
    case "sqs": {
      const [account, name] = new URL(String(input.QueueUrl)).pathname.split("/").filter(Boolean);
      return [`arn:aws:sqs:${place.region}:${String(account)}:${String(name)}`];
    }
    case "secretsmanager":
      return [
        secretArn({ id: String(input.SecretId), account: place.account, region: place.homeRegion }),
      ];
    case "ssm":
      return [arn(`parameter/${String(input.Name).replace(/^\//, "")}`)];
    case "monitoring":
      return ["*"];
    case "logs":
      return [arn(`log-group:${String(input.logGroupName)}`)];
    case "dynamodb": {
      const table = String(input.TableName);
      const index = input.IndexName === undefined ? "" : `/index/${String(input.IndexName)}`;
      return [`${table.startsWith("arn:") ? table : arn(`table/${table}`)}${index}`];
    }
  }
  throw new Error(`The rehearsal does not know the resources of ${service}.`);
}

/**
 * Reads a form: calls of STS (https://docs.aws.amazon.com/STS/latest/APIReference/API_Operations.html), and CloudFormation's
 * DescribeStacks. Returns undefined for anything else, and throws for another action of STS.
 */
export function readQueryCall({
  received: { request, body },
  place: { account, region },
}: {
  received: Received;
  place: Pick<Place, "account" | "region">;
}): AwsCall | undefined {
  if (!/^application\/x-www-form-urlencoded\b/.test(request.headers.get("content-type") ?? ""))
    return undefined;
  const { Action, Version, ...fields } = Object.fromEntries(
    new URLSearchParams(Buffer.from(body).toString("utf8")),
  );
  if (Version === "2010-05-15" && Action === "DescribeStacks") {
    const resources = [
      `arn:aws:cloudformation:${region}:${account}:stack/${String(fields.StackName)}/made-up`,
    ];
    return {
      service: "cloudformation",
      action: `cloudformation:${Action}`,
      resources,
      input: fields,
    };
  }
  if (Version !== "2011-06-15") return undefined;
  const lists = listsIn(fields);
  const call = (
    resources: string[],
    keys: Record<string, Fields[string] | undefined> = {},
  ): AwsCall => {
    const present = Object.entries(keys).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value] as const],
    );
    const context = Object.fromEntries(present);
    return { service: "sts", action: `sts:${Action}`, resources, input: lists, context };
  };
  switch (Action) {
    case "GetWebIdentityToken": {
      const tagKeys = Object.entries(lists).flatMap(([name, value]) =>
        /^Tags\.member\.\d+\.Key$/.test(name) ? [String(value)] : [],
      );
      const tokenCall = call([`arn:aws:sts::${account}:self`], {
        "sts:identitytokenaudience": lists.Audience,
        "sts:signingalgorithm": lists.SigningAlgorithm,
        "sts:durationseconds": lists.DurationSeconds ?? "300",
        ...(tagKeys.length > 0 && { "aws:tagkeys": tagKeys }),
      });
      // https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_outbound_policies.html
      return tagKeys.length === 0
        ? tokenCall
        : {
            ...tokenCall,
            permissions: ["sts:GetWebIdentityToken", "sts:TagGetWebIdentityToken"],
          };
    }
    case "AssumeRole":
      return call([String(lists.RoleArn)], { "sts:externalid": lists.ExternalId });
    // It needs no permission: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    case "GetCallerIdentity":
      return call([]);
  }
  throw new Error(`The rehearsal does not know ${String(Action)} of STS.`);
}

type Fields = Record<string, string | string[]>;

/** The tags of a request for a token. Undefined if STS would refuse them: at most 50, with the characters and sizes of its tags. */
export function readTags(
  input: Readonly<Record<string, unknown>>,
): Record<string, string> | undefined {
  const tags: Record<string, string> = {};
  let count = 0;
  for (const [name, key] of Object.entries(input)) {
    const [, member] = /^Tags\.member\.(\d+)\.Key$/.exec(name) ?? [];
    if (member === undefined) continue;
    const value = input[`Tags.member.${member}.Value`];
    const isKey = typeof key === "string" && /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u.test(key);
    const isValue = typeof value === "string" && /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u.test(value);
    if (!isKey || !isValue || key in tags) return undefined;
    tags[key] = value;
    count += 1;
  }
  return count <= 50 ? tags : undefined;
}

/** Joins `Audience.member.1` and so on into one list. */
function listsIn(fields: Record<string, string>): Fields {
  const lists: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    const [, list] = /^(\w+)\.member\.\d+$/.exec(name) ?? [];
    if (list === undefined) lists[name] = value;
    else lists[list] = [...(lists[list] ?? []), value];
  }
  return lists;
}
