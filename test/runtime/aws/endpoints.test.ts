/** Where the services are, beside the SDK: in the regions of every partition, and where the environment says otherwise. */
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { ListSecretsCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { DescribeParametersCommand, SSMClient } from "@aws-sdk/client-ssm";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { afterEach, describe, expect, it } from "@jest/globals";
import { regionSchema } from "@sekisho/config/values.ts";
import {
  createEndpointResolver,
  readAwsEnvironment,
  withRegion,
} from "@sekisho/runtime/aws/environment.ts";
import { findPartition } from "@sekisho/runtime/aws/partitions.ts";
import { RegionInfo } from "aws-cdk-lib/region-info";

const credentials = { accessKeyId: "a", secretAccessKey: "b" };
const savedEnv = { ...process.env };

const clients = {
  dynamodb: (region: string) => ({
    client: new DynamoDBClient({ region, credentials }),
    command: new ListTablesCommand(),
  }),
  sqs: (region: string) => ({
    client: new SQSClient({ region, credentials }),
    command: new ListQueuesCommand(),
  }),
  ssm: (region: string) => ({
    client: new SSMClient({ region, credentials }),
    command: new DescribeParametersCommand(),
  }),
  secretsmanager: (region: string) => ({
    client: new SecretsManagerClient({ region, credentials }),
    command: new ListSecretsCommand(),
  }),
  sts: (region: string) => ({
    client: new STSClient({ region, credentials }),
    command: new GetCallerIdentityCommand(),
  }),
};
const services = Object.keys(clients) as (keyof typeof clients)[];

/** Where the SDK's client would send a call. Nothing is sent. */
async function sdkUrl(service: keyof typeof clients, region: string): Promise<string> {
  const { client, command } = clients[service](region) as {
    client: STSClient;
    command: GetCallerIdentityCommand;
  };
  let url = "";
  const stop = () => async (args: { request: unknown }) => {
    const { protocol, hostname, port, path } = args.request as Record<string, string>;
    url = `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}`;
    throw new Error("stopped");
  };
  client.middlewareStack.add(stop, { step: "finalizeRequest", priority: "low" });
  await client.send(command).catch(() => {});
  client.destroy();
  return url;
}

async function expectSame(region: string) {
  const endpointOf = createEndpointResolver({ region });
  const expectedResult = await Promise.all(services.map((service) => sdkUrl(service, region)));
  expect(services.map((service) => endpointOf(service).href)).toEqual(expectedResult);
  return expectedResult;
}

afterEach(() => {
  process.env = { ...savedEnv };
});

const regions = [
  ...[
    "us-east-1",
    "eu-central-1",
    "ap-southeast-7",
    "il-central-1",
    "mx-central-1",
    "xx-unheard-9",
  ],
  ...["cn-north-1", "cn-northwest-1", "us-gov-west-1", "us-gov-east-1", "eusc-de-east-1"],
  ...["us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1"],
];

it.each(regions)("accepts the region %s, in the partition that CDK knows", (region) => {
  expect(regionSchema.safeParse(region).success).toBe(true);
  expect(findPartition(region).name).toBe(RegionInfo.get(region).partition ?? "aws");
});

it.each(["eusc", "europe-central-1", "eu-central", "EU-central-1"])(
  "refuses the region %s",
  (text) => {
    expect(regionSchema.safeParse(text).success).toBe(false);
  },
);

describe("the endpoints of AWS", () => {
  it.each(regions)(
    "resolves the same endpoints as the SDK in %s, including those for FIPS 140",
    async (region) => {
      const usual = await expectSame(region);
      process.env.AWS_USE_FIPS_ENDPOINT = "true";
      expect(await expectSame(region)).not.toEqual(usual);
      process.env.AWS_USE_FIPS_ENDPOINT = "false";
      expect(await expectSame(region)).toEqual(usual);
    },
  );

  it("resolves the same endpoints as the SDK when the environment names one for all services or for each", async () => {
    process.env.AWS_ENDPOINT_URL = "http://127.0.0.1:4566";
    expect(new Set(await expectSame("eu-central-1"))).toEqual(new Set(["http://127.0.0.1:4566/"]));
    for (const name of ["DYNAMODB", "SQS", "SSM", "SECRETS_MANAGER", "STS"]) {
      process.env[`AWS_ENDPOINT_URL_${name}`] = `http://127.0.0.1:1/${name}`;
    }
    expect(new Set(await expectSame("eu-central-1")).size).toBe(5);
    process.env.AWS_ENDPOINT_URL_SQS = "";
    expect(await expectSame("eu-central-1")).toContain("http://127.0.0.1:4566/");
    process.env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS = "true";
    expect(await expectSame("eu-central-1")).toContain("https://sqs.eu-central-1.amazonaws.com/");
  });
});

it("uses the endpoints of another region with the same credentials", async () => {
  process.env = {
    ...savedEnv,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
  };
  const aws = readAwsEnvironment();
  expect(withRegion({ aws, region: "eu-central-1" })).toBe(aws);
  const there = withRegion({ aws, region: "cn-north-1" });
  expect(there).toMatchObject({ region: "cn-north-1", credentials: aws.credentials });
  expect(there.endpointOf("sqs").href).toBe("https://sqs.cn-north-1.amazonaws.com.cn/");
});
