/** Secrets, parameters, tables and buckets of the templates. */
import { createHash } from "node:crypto";
import type { Parameters } from "../../../doubles/aws/parameters.ts";
import { createS3Double, type S3Double } from "../../../doubles/aws/s3.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import type { Dependencies } from "../compute.ts";
import type { Resolver } from "../template/resolve.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";

export type StoredValues = {
  secrets: Backend;
  parameters: Backend;
};

/** Returns the ARN of a secret. It ends in six characters that AWS chooses when the secret is created. */
export function secretArn({
  id,
  account,
  region,
}: {
  id: string;
  account: string;
  region: string;
}): string {
  if (id.startsWith("arn:")) return id;
  const suffix = createHash("sha256").update(id).digest("hex").slice(0, 6);
  return `arn:aws:secretsmanager:${region}:${account}:secret:${id}-${suffix}`;
}

export function storeValues({
  secrets,
  parameters,
  onProblem,
}: {
  secrets: Record<string, string>;
  parameters: Parameters;
  onProblem: (problem: string) => void;
}): StoredValues {
  const secretValues = new Map(Object.entries(secrets));
  return {
    async secrets({ call: { action, input }, caller }) {
      const id = String(input.SecretId);
      const value =
        secretValues.get(id) ?? secretValues.get(/:secret:(.*)-[^-]{6}$/.exec(id)?.[1] ?? "");
      if (action === "secretsmanager:GetSecretValue" && value !== undefined)
        return Response.json({ Name: id, SecretString: value });
      if (action === "secretsmanager:DescribeSecret" && value !== undefined)
        return Response.json({ Name: id, VersionIdsToStages: { "v-1": ["AWSCURRENT"] } });
      onProblem(`${caller.name} asked for ${action} of the secret ${id}, which nobody has put.`);
      return awsFailure({ service: "secretsmanager", name: "ResourceNotFoundException" });
    },
    async parameters({ call: { action, input }, caller }) {
      const response = parameters.handle(action.slice(4), input);
      if (!response.ok)
        onProblem(`${caller.name} asked for ${action} of ${input.Name}, which no template has.`);
      return response;
    },
  };
}

/** The emulator reads the region off a signature, and checks nothing. */
const emulatorHeaders = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=0",
  "x-amz-date": "20260101T000000Z",
};

const copied = ["KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes"];

/** Creates the tables of the templates in the emulator. */
export async function createTables({
  endpoint,
  resolver,
}: {
  endpoint: string;
  resolver: Resolver;
}): Promise<Backend> {
  for (const table of resolver.resources("AWS::DynamoDB::Table")) {
    const schema = Object.fromEntries(copied.map((name) => [name, table.properties[name]]));
    const input = { ...schema, TableName: table.ref, BillingMode: "PAY_PER_REQUEST" };
    const response = await post({ operation: "CreateTable", body: JSON.stringify(input) });
    if (!response.ok)
      throw new Error(`The emulator did not create ${table.label}: ${await response.text()}`);
  }

  function post({
    operation,
    body,
    signal,
  }: {
    operation: string;
    body: string;
    signal?: AbortSignal;
  }) {
    const headers = {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDB_20120810.${operation}`,
      ...emulatorHeaders,
    };
    return fetch(endpoint, { method: "POST", headers, body, signal: signal ?? hangSignal() });
  }

  return ({ call: { action }, received: { body, request } }) =>
    post({
      operation: action.slice(9),
      body: Buffer.from(body).toString("utf8"),
      signal: request.signal,
    });
}

/** Each bucket answers in its own region only. */
export function createBuckets({
  resolver,
  callerOf,
  onProblem,
}: {
  resolver: Resolver;
  callerOf: Dependencies["callerOf"];
  onProblem: (problem: string) => void;
}): Backend {
  const credentialsOf = (accessKeyId: string) => callerOf(accessKeyId)?.credentials;
  const doubles = new Map<string, S3Double>();
  for (const bucket of resolver.resources("AWS::S3::Bucket")) {
    const name = bucket.ref;
    doubles.set(
      name,
      createS3Double({ buckets: [name], region: bucket.stack.region, credentialsOf }),
    );
  }
  return async ({ call: { resources, action }, received: requests, caller }) => {
    const [name = ""] = (resources[0]?.split(":::")[1] ?? "").split("/");
    const double = doubles.get(name);
    if (double === undefined) {
      onProblem(`${caller.name} asked for ${action} of the bucket ${name}, which no template has.`);
      return awsFailure({ service: "s3", name: "NoSuchBucket" });
    }
    const response = await double.handle(requests);
    for (const problem of double.problems.splice(0))
      onProblem(`${name} refused ${action} of ${caller.name}: ${problem}.`);
    return response;
  };
}
