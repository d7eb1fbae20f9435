/** The operator of a stage: a person whose credentials have exactly the permissions that docs/reference/permissions.md lists. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatStackName, type verificationOutputs } from "@sekisho/cdk/names.ts";
import { liveSettingsId } from "@sekisho/verification/config/stored-settings.ts";
import { type Run, sekisho } from "../../e2e/processes.ts";
import { type Caller, createCaller, credentialVariables } from "./aws/callers.ts";
import { inRehearsalTime, timeVariables } from "./clock.ts";
import { verificationOutput } from "./stage.ts";
import { operatorRoleArn, stageName, verificationPlace } from "./synthesized.ts";
import type { Resolver } from "./template/resolve.ts";
import type { World } from "./world.ts";

const arnIn =
  ({ account, region }: { account: string; region: string }) =>
  (service: string, resource: string) =>
    `arn:aws:${service}:${region}:${account}:${resource}`;
const allow = (Action: string | string[], Resource: string | string[]) => ({
  Effect: "Allow",
  Action,
  Resource,
});

/** The operator's policy in the Verification account. It names no runtime, no Function URL and no secret of a destination. */
export function operatorPolicy({ resolver }: { resolver: Resolver }): unknown {
  const { account } = verificationPlace;
  const stackName = formatStackName({ stageName, zone: "Verification" });
  const output = (name: keyof typeof verificationOutputs) => verificationOutput({ resolver }, name);
  const arn = arnIn(verificationPlace);
  const queueOf = (url: string) => arn("sqs", url.split("/").at(-1) ?? "");
  const keys = resolver.resources("AWS::KMS::Key").map((key) => key.arn);
  return {
    Statement: [
      allow("cloudformation:DescribeStacks", arn("cloudformation", `stack/${stackName}/*`)),
      allow("lambda:InvokeFunction", output("workerFunction")),
      allow(
        ["ssm:GetParameter", "ssm:GetParameterHistory"],
        arn("ssm", `parameter/${output("formerLiveSettings")}`),
      ),
      allow("sqs:GetQueueAttributes", [
        queueOf(output("queueUrl")),
        queueOf(output("deadLettersUrl")),
      ]),
      allow("dynamodb:GetItem", arn("dynamodb", `table/${output("tableName")}`)),
      // The worker has created the record, so pushing it needs no PutItem.
      {
        ...allow("dynamodb:UpdateItem", arn("dynamodb", `table/${output("tableName")}`)),
        Condition: { "ForAllValues:StringEquals": { "dynamodb:LeadingKeys": [liveSettingsId] } },
      },
      // The rest is for `sekisho doctor --send`.
      allow("sqs:SendMessage", queueOf(output("queueUrl"))),
      allow("cloudwatch:DescribeAlarms", "*"),
      allow(
        ["kms:Decrypt", "kms:GenerateDataKey"],
        keys.filter((key) => key.includes(`:${account}:`)),
      ),
      allow(
        "secretsmanager:DescribeSecret",
        arn("secretsmanager", `secret:sekisho/${stageName}/*`),
      ),
      allow(
        "secretsmanager:GetSecretValue",
        arn("secretsmanager", `secret:sekisho/${stageName}/SLACK_*`),
      ),
    ],
  };
}

function admitted(
  world: World,
  place: { roleArn: string; account: string; region: string },
): Caller {
  const caller = createCaller({ name: "operator", kind: "code", ...place });
  world.dependencies.admit(caller);
  return caller;
}

/** Returns the environment of an operator's command. It starts in the time of the rehearsal. */
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

/** Runs `sekisho …args --stage` in a process, with the deployed configuration. */
export async function asOperator(
  world: World,
  { config, args }: { config: unknown; args: string[] },
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-operator-"));
  try {
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(config));
    const env = operatorEnvironment(world);
    return await sekisho({ args: [...args, "--stage", stageName], cwd: folder, env }).exited;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Found = { name: string; status: string };

/** Runs `doctor`. Resolves to its checks, and to those that failed. */
export async function runDoctor(
  world: World,
  { config }: { config: unknown },
): Promise<{ failed: Found[]; checks: Found[]; run: Run }> {
  const run = await asOperator(world, { config, args: ["doctor", "--json"] });
  const { checks } = JSON.parse(run.stdout || '{"checks":[]}') as { checks: Found[] };
  return { run, checks, failed: checks.filter(({ status }) => status === "failed") };
}
