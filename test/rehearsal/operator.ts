/** The operator of a stage: a person with credentials of the Verification account and exactly the permissions that docs/operations.md names. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatStackName, verificationOutputs } from "../../lib/cdk/names.ts";
import { type Run, sekisho } from "../e2e/processes.ts";
import { type Caller, createCaller, credentialVariables } from "./aws/callers.ts";
import { inRehearsalTime, timeVariables } from "./clock.ts";
import {
  executionOperatorRoleArn,
  executionPlace,
  operatorRoleArn,
  stageName,
  verificationPlace,
} from "./synthesized.ts";
import type { Resolver } from "./template/resolve.ts";
import type { World } from "./world.ts";

/** What the operator's own IAM policy says. It names no runtime, no Function URL and no secret of a destination. */
export function operatorPolicy({ resolver }: { resolver: Resolver }): unknown {
  const { account, region } = verificationPlace;
  const stackName = formatStackName({ stageName, zone: "Verification" });
  const output = (name: keyof typeof verificationOutputs) =>
    resolver.output({ stackName, name: verificationOutputs[name] });
  const arn = (service: string, resource: string) => `arn:aws:${service}:${region}:${account}:${resource}`;
  const queueOf = (url: string) => arn("sqs", url.split("/").at(-1) ?? "");
  const keys = resolver.resources("AWS::KMS::Key").map((key) => resolver.attribute(key, "Arn"));
  const allow = (Action: string | string[], Resource: string | string[]) => ({ Effect: "Allow", Action, Resource });
  return {
    Statement: [
      allow(
        ["cloudformation:DescribeStacks", "cloudformation:ListStackResources"],
        arn("cloudformation", `stack/${stackName}/*`),
      ),
      allow("lambda:InvokeFunction", output("workerFunction")),
      allow("ssm:GetParameter", arn("ssm", `parameter/${output("routesParameter").replace(/^\//, "")}`)),
      allow("sqs:GetQueueAttributes", [queueOf(output("queueUrl")), queueOf(output("deadLettersUrl"))]),
      allow("dynamodb:GetItem", arn("dynamodb", `table/${output("tableName")}`)),
      // The rest is for smoke.
      allow("sqs:SendMessage", queueOf(output("queueUrl"))),
      allow(["cloudwatch:DescribeAlarms", "cloudwatch:GetMetricData", "lambda:GetAccountSettings"], "*"),
      allow("logs:FilterLogEvents", arn("logs", `log-group:${stackName}-*`)),
      allow(
        ["kms:Decrypt", "kms:GenerateDataKey"],
        keys.filter((key) => key.includes(`:${account}:`)),
      ),
      allow("secretsmanager:DescribeSecret", arn("secretsmanager", `secret:sekisho/${stageName}/*`)),
      allow("secretsmanager:GetSecretValue", arn("secretsmanager", `secret:sekisho/${stageName}/SLACK_*`)),
    ],
  };
}

/** What smoke reads of the Execution zone, with credentials of that account. */
export function executionOperatorPolicy(): unknown {
  const { account, region } = executionPlace;
  const stackName = formatStackName({ stageName, zone: "Execution" });
  const arn = (service: string, resource: string) => `arn:aws:${service}:${region}:${account}:${resource}`;
  const allow = (Action: string | string[], Resource: string) => ({ Effect: "Allow", Action, Resource });
  return {
    Statement: [
      allow("cloudformation:ListStackResources", arn("cloudformation", `stack/${stackName}/*`)),
      allow(["cloudwatch:DescribeAlarms", "cloudwatch:GetMetricData"], "*"),
      allow("logs:FilterLogEvents", arn("logs", `log-group:${stackName}-*`)),
    ],
  };
}

/** Writes the credentials of the Execution account as a profile of the AWS command line; resolves to the variables that name it. */
export function executionProfile(
  world: World,
  { folder, name }: { folder: string; name: string },
): Record<string, string> {
  const { credentials } = admitted(world, { ...executionPlace, roleArn: executionOperatorRoleArn });
  const lines = [
    `[${name}]`,
    `aws_access_key_id = ${credentials.accessKeyId}`,
    `aws_secret_access_key = ${credentials.secretAccessKey}`,
    `aws_session_token = ${credentials.sessionToken}`,
  ];
  const file = join(folder, "credentials");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return { AWS_SHARED_CREDENTIALS_FILE: file, AWS_CONFIG_FILE: join(folder, "none") };
}

function admitted(world: World, place: { roleArn: string; account: string; region: string }): Caller {
  const caller = createCaller({ name: "operator", kind: "code", ...place });
  world.admit(caller);
  return caller;
}

/** The environment of a command of the operator. Its time is that of the rehearsal when it starts. */
export function operatorEnvironment(world: World): Record<string, string> {
  const caller = admitted(world, { ...verificationPlace, roleArn: operatorRoleArn });
  return {
    ...credentialVariables(caller),
    ...timeVariables(),
    NODE_OPTIONS: inRehearsalTime.join(" "),
    AWS_ENDPOINT_URL: world.gateway.url,
    AWS_MAX_ATTEMPTS: "1",
  };
}

/** `sekisho …words --stage` in a process of its own, with the file that was deployed. */
export async function asOperator(world: World, { config, words }: { config: unknown; words: string[] }): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-operator-"));
  try {
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(config));
    const env = operatorEnvironment(world);
    return await sekisho({ words: [...words, "--stage", stageName], cwd: folder, env }).exited;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Found = { name: string; decision: string; what: string };

/** What `doctor` found: the names of what is not ok, and whether it printed a secret. */
export async function isExamined(
  world: World,
  { config }: { config: unknown },
): Promise<{ failed: Found[]; checks: Found[]; run: Run }> {
  const run = await asOperator(world, { config, words: ["doctor", "--json"] });
  const { checks } = JSON.parse(run.stdout || '{"checks":[]}') as { checks: Found[] };
  return { run, checks, failed: checks.filter(({ decision }) => decision === "failed") };
}
