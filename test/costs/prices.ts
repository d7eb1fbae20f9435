/** AWS prices of one region at one date, each with the page that publishes it. */

type Price = { usd: number; per: number; unit: string; source: string };

const source = (path: string) => `https://aws.amazon.com/${path}/pricing/`;
const dynamodb = source("dynamodb");
const cloudwatch = source("cloudwatch");
const agentcore = source("bedrock/agentcore");

export const priceList = {
  region: "us-east-1",
  /** Without free tiers, volume discounts, savings plans and taxes. */
  asOf: "2026-06",
  prices: {
    httpApiRequest: {
      usd: 1,
      per: 1e6,
      unit: "requests (512 KB each)",
      source: source("api-gateway"),
    },
    lambdaRequest: { usd: 0.2, per: 1e6, unit: "requests", source: source("lambda") },
    lambdaGbSecond: {
      usd: 0.0000133334,
      per: 1,
      unit: "GB-seconds on arm64",
      source: source("lambda"),
    },
    sqsRequest: {
      usd: 0.4,
      per: 1e6,
      unit: "requests (64 KB each), standard queue",
      source: source("sqs"),
    },
    sqsFairRequest: {
      usd: 0.1,
      per: 1e6,
      unit: "requests with a message group, on top",
      source: source("sqs"),
    },
    dynamodbWrite: {
      usd: 0.625,
      per: 1e6,
      unit: "write units (1 KB each), on demand",
      source: dynamodb,
    },
    dynamodbRead: {
      usd: 0.125,
      per: 1e6,
      unit: "read units (4 KB each), on demand",
      source: dynamodb,
    },
    dynamodbGbMonth: { usd: 0.25, per: 1, unit: "GB of records, a month", source: dynamodb },
    dynamodbRecoveryGbMonth: {
      usd: 0.2,
      per: 1,
      unit: "GB with point-in-time recovery, a month, on top",
      source: dynamodb,
    },
    kmsKeyMonth: { usd: 1, per: 1, unit: "keys, a month", source: source("kms") },
    kmsRequest: { usd: 0.03, per: 1e4, unit: "requests", source: source("kms") },
    secretRead: { usd: 0.05, per: 1e4, unit: "calls", source: source("secrets-manager") },
    s3Put: { usd: 0.005, per: 1000, unit: "files put into the bucket", source: source("s3") },
    s3Get: { usd: 0.0004, per: 1000, unit: "files read from the bucket", source: source("s3") },
    secretMonth: { usd: 0.4, per: 1, unit: "secrets, a month", source: source("secrets-manager") },
    logGb: { usd: 0.5, per: 1, unit: "GB of logs that are written", source: cloudwatch },
    metricMonth: {
      usd: 0.3,
      per: 1,
      unit: "custom metrics, a month with data in every hour",
      source: cloudwatch,
    },
    alarmMetricMonth: {
      usd: 0.1,
      per: 1,
      unit: "metrics that an alarm watches, a month",
      source: cloudwatch,
    },
    agentcoreVcpuHour: {
      usd: 0.0895,
      per: 1,
      unit: "vCPU-hours in use, platform version V1",
      source: agentcore,
    },
    agentcoreGbHour: {
      usd: 0.00945,
      per: 1,
      unit: "GB-hours of a session, platform version V1",
      source: agentcore,
    },
    agentcoreV2VcpuHour: {
      usd: 0.1276,
      per: 1,
      unit: "vCPU-hours in use, platform version V2",
      source: agentcore,
    },
    agentcoreV2GbHour: {
      usd: 0.0169,
      per: 1,
      unit: "GB-hours of a session, platform version V2",
      source: agentcore,
    },
  } satisfies Record<string, Price>,
} as const;

type PriceName = keyof typeof priceList.prices;

export function toDollars(price: PriceName, units: number): number {
  const { usd, per } = priceList.prices[price];
  return (units * usd) / per;
}
