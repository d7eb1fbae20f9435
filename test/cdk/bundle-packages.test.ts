/** The packages that each bundle may contain. */
import { expect, it } from "@jest/globals";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { bundle } from "../../lib/cdk/bundle/bundle.ts";
import { type BundleName, bundleNames } from "../../lib/cdk/bundle/entry.ts";

/** Every client of the AWS SDK needs these, mostly for the default credential chain. */
const sdk = [
  "@aws-sdk/core",
  "@aws-sdk/credential-provider-env",
  "@aws-sdk/credential-provider-http",
  "@aws-sdk/credential-provider-ini",
  "@aws-sdk/credential-provider-login",
  "@aws-sdk/credential-provider-node",
  "@aws-sdk/credential-provider-process",
  "@aws-sdk/credential-provider-sso",
  "@aws-sdk/credential-provider-web-identity",
  "@aws-sdk/nested-clients",
  "@aws-sdk/signature-v4-multi-region",
  "@aws-sdk/token-providers",
  "@aws-sdk/xml-builder",
  "@aws/lambda-invoke-store",
  "@smithy/core",
  "@smithy/credential-provider-imds",
  "@smithy/node-http-handler",
  "@smithy/signature-v4",
  "@smithy/types",
];
const dynamoDb = [
  "@aws-sdk/client-dynamodb",
  "@aws-sdk/dynamodb-codec",
  "@aws-sdk/endpoint-cache",
  "@aws-sdk/middleware-endpoint-discovery",
  "mnemonist",
  "obliterator",
];
const sqs = ["@aws-sdk/client-sqs", "@aws-sdk/middleware-sdk-sqs"];
const slack = [
  "@slack/logger",
  "@slack/types",
  "@slack/web-api",
  "eventemitter3",
  "p-finally",
  "p-queue",
  "p-retry",
  "p-timeout",
  "retry",
];
const tokens = ["@aws-sdk/client-sts", "jose"];
/** For the detection of file types. */
const fileTypes = [
  "file-type",
  "@borewit/text-codec",
  "@tokenizer/inflate",
  "debug",
  "has-flag",
  "ieee754",
  "ms",
  "strtok3",
  "supports-color",
  "token-types",
  "uint8array-extras",
];
/** For spans. */
const tracing = [
  "@opentelemetry/api",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/core",
  "@opentelemetry/otlp-transformer",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace",
  "@opentelemetry/semantic-conventions",
];
/** Only for processes that keep running. */
const prometheus = ["prom-client", "tdigest", "bintrees"];
const agentCore = "@aws-sdk/client-bedrock-agentcore";
const worker = ["zod", ...sdk, ...dynamoDb, ...sqs, ...slack, ...tokens, ...fileTypes, ...tracing, agentCore];

const budgets: Record<BundleName, readonly string[]> = {
  ingress: ["zod", "@smithy/core", "@smithy/signature-v4"],
  worker,
  deadLetters: ["zod", ...sdk, ...dynamoDb, ...sqs, ...tracing],
  installFlow: ["zod", "jose", "@smithy/core", "@smithy/signature-v4"],
  executionUrl: ["zod", ...tracing, "jose", "canonicalize", ...sdk, ...dynamoDb, ...sqs],
  executionWorker: ["zod", ...tracing, ...sdk, ...dynamoDb, ...sqs],
  agentcore: ["zod", ...prometheus, ...tracing, ...sdk, ...dynamoDb, ...sqs],
  container: ["zod", ...prometheus, ...tracing, "jose", "canonicalize"],
};

function packagesOf(name: BundleName): string[] {
  const { metafile } = bundle({ name, config: parseConfig({ json: {} }), configDirectory: "." });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const packages = inputs.flatMap(([path, { bytesInOutput }]) => {
    const [, found] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
    return found === undefined || bytesInOutput === 0 ? [] : [found];
  });
  return [...new Set(packages)];
}

it.each(bundleNames)("the bundle of %s has the packages of its budget, with the agent echo", (name) => {
  expect(packagesOf(name).sort()).toEqual([...budgets[name]].sort());
});
