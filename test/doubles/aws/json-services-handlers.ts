/** The AWS services of `json-services.ts`, each as far as the command line uses it. */
import type { DynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { escapeXml, json, jsonError, xml, xmlError } from "./json-services-wire.ts";

export type StoredSecret = {
  value?: string;
  deleted?: boolean;
  description?: string;
  tags?: unknown;
};

/** Secrets Manager. A secret may have no value yet, or be scheduled for deletion. */
export function createSecrets() {
  const all = new Map<string, StoredSecret>();
  const absent = () =>
    jsonError({
      status: 400,
      name: "ResourceNotFoundException",
      message: "Secrets Manager can't find it.",
    });
  return {
    all,
    handle(action: string, input: Record<string, unknown>): Response {
      const {
        SecretId = "",
        Name = "",
        SecretString,
        Description,
        Tags,
      } = input as Record<string, string | undefined>;
      const cachedValue = all.get(SecretId);
      switch (action) {
        case "DescribeSecret":
          if (cachedValue === undefined) return absent();
          return json({
            Name: SecretId,
            ...(cachedValue.value === undefined
              ? {}
              : { VersionIdsToStages: { "v-1": ["AWSCURRENT"] } }),
            ...(cachedValue.deleted ? { DeletedDate: 1_790_000_000 } : {}),
          });
        case "GetSecretValue":
          return cachedValue?.value === undefined
            ? absent()
            : json({ Name: SecretId, SecretString: cachedValue.value });
        case "CreateSecret":
          if (all.has(Name))
            return jsonError({ status: 400, name: "ResourceExistsException", message: Name });
          all.set(Name, { value: SecretString ?? "", description: Description ?? "", tags: Tags });
          return json({ Name });
        case "PutSecretValue":
          if (cachedValue === undefined) return absent();
          all.set(SecretId, { ...cachedValue, value: SecretString ?? "" });
          return json({ Name: SecretId });
      }
      return jsonError({ status: 400, name: "InvalidAction", message: action });
    },
  };
}

/** IAM's outbound web identity federation: whether the account's STS issues tokens for others. */
export function createFederation() {
  const federation = {
    issuer: "https://0f2c1d3e.tokens.sts.global.api.aws",
    /** The info is an error before it is enabled for the first time, and no error after it is disabled. */
    state: "never" as "never" | "on" | "off",
    handle(action: string): Response {
      const issuer = `<IssuerIdentifier>${federation.issuer}</IssuerIdentifier>`;
      if (action === "GetOutboundWebIdentityFederationInfo") {
        if (federation.state === "never")
          return xmlError({ status: 404, name: "FeatureDisabled", message: "disabled" });
        const enabled = `<JwtVendingEnabled>${federation.state === "on"}</JwtVendingEnabled>`;
        return xml({ action, result: `${issuer}${enabled}` });
      }
      if (federation.state === "on")
        return xmlError({ status: 409, name: "FeatureEnabled", message: "enabled" });
      federation.state = "on";
      return xml({ action, result: issuer });
    },
  };
  return federation;
}

/** The functions by ARN. What one throws is the function's failure. */
export type Functions = Map<string, (event: unknown) => Promise<unknown>>;

/** The ARN of an invocation (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html). Undefined for other requests. */
export function invokedFunction(method: string, target: string): string | undefined {
  const [, name] =
    /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(target.split("?")[0] ?? "") ?? [];
  return method === "POST" && name !== undefined ? decodeURIComponent(name) : undefined;
}

export async function invoke(functions: Functions, arn: string, body: string): Promise<Response> {
  const run = functions.get(arn);
  if (run === undefined)
    return lambdaError({ status: 404, name: "ResourceNotFoundException", message: arn });
  try {
    return Response.json(await run(JSON.parse(body)));
  } catch (error) {
    const { name, message } = error as Error;
    const headers = { "x-amz-function-error": "Unhandled" };
    return Response.json({ errorType: name, errorMessage: message, trace: [] }, { headers });
  }
}

export function lambdaError({
  status,
  name,
  message,
}: {
  status: number;
  name: string;
  message: string;
}): Response {
  return Response.json(
    { Type: "User", Message: message },
    { status, headers: { "x-amzn-errortype": name } },
  );
}

/** By stack name: its outputs. */
export type Stacks = Map<string, Record<string, string>>;

/** CloudFormation's DescribeStacks. */
export function describeStacks(stacks: Stacks, stack: string): Response {
  const outputs = stacks.get(stack);
  if (outputs === undefined) {
    const message = `Stack with id ${stack} does not exist`;
    return xmlError({ status: 400, name: "ValidationError", message });
  }
  const members = Object.entries(outputs).map(
    ([key, value]) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${escapeXml(value)}</OutputValue></member>`,
  );
  const status =
    "<StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-11-01T00:00:00Z</CreationTime>";
  const result = `<Stacks><member><StackName>${stack}</StackName>${status}<Outputs>${members.join("")}</Outputs></member></Stacks>`;
  return xml({ action: "DescribeStacks", result });
}

/** One operation of DynamoDB on the table `tasks`. */
export async function callTable(
  table: DynamoDb,
  action: string,
  input: { TableName?: string },
): Promise<Response> {
  if (input.TableName !== "tasks") {
    return jsonError({
      status: 400,
      name: "ResourceNotFoundException",
      message: String(input.TableName),
    });
  }
  try {
    return json(await table.call(action as "GetItem", input as never));
  } catch (error) {
    const { name, Item } = Object(error);
    const body = {
      __type: `com.amazonaws.dynamodb.v20120810#${name}`,
      message: name,
      ...(Item && { Item }),
    };
    return Response.json(body, {
      status: 400,
      headers: { "content-type": "application/x-amz-json-1.0" },
    });
  }
}
