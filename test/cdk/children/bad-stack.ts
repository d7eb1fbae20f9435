/** A stack with two faults: a queue that accepts requests without TLS, and a timeout above the limit of Lambda. */
import { readFileSync } from "node:fs";
import { addChecks } from "@sekisho/cdk/app.ts";
import { App, Stack } from "aws-cdk-lib";
import { CfnFunction } from "aws-cdk-lib/aws-lambda";
import { CfnQueue } from "aws-cdk-lib/aws-sqs";

const { context } = JSON.parse(readFileSync("cdk.json", "utf8"));
const app = new App({ context, analyticsReporting: false });
const stack = new Stack(app, "Bad", { env: { account: "111111111111", region: "eu-central-1" } });
new CfnQueue(stack, "Queue", {});
new CfnFunction(stack, "Function", {
  code: { zipFile: "exports.handler = () => {};" },
  handler: "index.handler",
  role: "arn:aws:iam::111111111111:role/some-role",
  runtime: "nodejs24.x",
  timeout: 5000,
});
addChecks(app);
app.synth();
