/** The programs that no test runs, with the options that the documents use. A misspelt option fails; look up a new one and add it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { root } from "./documented.ts";
import type { ShellCommand } from "./shell-line.ts";

/** Options by program and subcommand, from the vendor's reference. */
const known: Record<string, string[]> = {
  "gcloud secrets create": ["--data-file"],
  "gcloud secrets add-iam-policy-binding": ["--role", "--member"],
  "gcloud run deploy": [
    "--source",
    "--image",
    "--region",
    "--allow-unauthenticated",
    "--set-secrets",
    "--no-cpu-throttling",
    "--min-instances",
    "--max-instances",
  ],
  "gcloud artifacts repositories create": ["--repository-format", "--location"],
  "gcloud auth configure-docker": [],
  "docker build": ["--platform", "-t", "--build-arg"],
  "docker buildx build": ["--platform", "-t", "--build-arg", "--output", "--sbom", "--provenance"],
  "docker run": ["--read-only", "--rm", "-e", "-p", "-v"],
  "docker push": [],
  "aws bedrock list-inference-profiles": ["--region", "--query"],
  "aws bedrock-agentcore-control list-agent-runtimes": ["--region"],
  "aws bedrock-runtime converse": ["--region", "--model-id", "--messages"],
  "aws budgets create-budget": ["--account-id", "--budget", "--notifications-with-subscribers"],
  "aws cloudformation deploy": ["--stack-name", "--template-file", "--capabilities"],
  "aws cloudformation delete-stack": ["--stack-name"],
  "aws cloudformation describe-stack-events": ["--stack-name", "--query", "--output"],
  "aws cloudformation describe-stacks": ["--stack-name", "--query", "--output"],
  "aws cloudformation list-stack-resources": ["--stack-name", "--query", "--output"],
  "aws cloudwatch describe-alarms": ["--alarm-name-prefix", "--state-value", "--query"],
  "aws cloudwatch list-metrics": ["--namespace", "--recently-active"],
  "aws cloudwatch set-alarm-state": ["--alarm-name", "--state-value", "--state-reason"],
  "aws dynamodb delete-item": ["--table-name", "--key"],
  "aws dynamodb delete-table": ["--table-name"],
  "aws dynamodb describe-continuous-backups": ["--table-name"],
  "aws dynamodb list-backups": ["--backup-type", "--table-name"],
  "aws dynamodb restore-table-from-backup": [
    "--target-table-name",
    "--backup-arn",
    "--sse-specification-override",
  ],
  "aws dynamodb restore-table-to-point-in-time": [
    "--source-table-name",
    "--target-table-name",
    "--restore-date-time",
  ],
  "aws dynamodb update-continuous-backups": [
    "--table-name",
    "--point-in-time-recovery-specification",
  ],
  "aws dynamodb update-table": [
    "--table-name",
    "--deletion-protection-enabled",
    "--no-deletion-protection-enabled",
  ],
  "aws dynamodb update-time-to-live": ["--table-name", "--time-to-live-specification"],
  "aws dynamodb wait table-exists": ["--table-name"],
  "aws iam create-open-id-connect-provider": ["--url", "--client-id-list"],
  "aws kms schedule-key-deletion": ["--key-id", "--pending-window-in-days"],
  "aws lambda get-account-settings": ["--query"],
  "aws lambda update-event-source-mapping": ["--uuid", "--enabled", "--no-enabled"],
  "aws service-quotas list-service-quotas": ["--service-code", "--query", "--output"],
  "aws service-quotas request-service-quota-increase": [
    "--service-code",
    "--quota-code",
    "--desired-value",
  ],
  "aws sns list-subscriptions-by-topic": ["--topic-arn"],
  "aws sns list-subscriptions": ["--query", "--output"],
  "aws sns subscribe": ["--topic-arn", "--protocol", "--notification-endpoint"],
  "aws sqs send-message": ["--queue-url", "--message-body"],
  "aws ssm delete-parameter": ["--name"],
  "aws ssm get-parameter-history": ["--name", "--output"],
  "aws ssm put-parameter": ["--name", "--value", "--overwrite"],
  "aws lambda get-function-recursion-config": ["--function-name"],
  "aws lambda put-function-recursion-config": ["--function-name", "--recursive-loop"],
  "aws logs delete-log-group": ["--log-group-name"],
  "aws logs filter-log-events": ["--log-group-name", "--filter-pattern", "--query", "--output"],
  "aws s3 rm": ["--recursive"],
  "aws secretsmanager delete-secret": ["--secret-id"],
  "aws sso login": [],
  "openssl rand": ["-hex"],
  tr: ["-d"],
  sha256sum: ["-c"],
  "git checkout": [],
  "git tag": ["-v"],
  ssh: ["-L"],
  curl: ["-N"],
  cmp: [],
};

/** Throws for an unknown program, subcommand or option, and for a file of this project that does not exist. */
export function lookAtProgram({ args }: ShellCommand): void {
  const name = Object.keys(known).find(
    (prefix) => args.slice(0, prefix.split(" ").length).join(" ") === prefix,
  );
  expect({ args, known: name !== undefined }).toEqual({ args, known: true });
  const rest = args.slice(name?.split(" ").length);
  const options = rest.flatMap((word) =>
    /^--?[A-Za-z]/.test(word) ? [word.replace(/=.*/, "")] : [],
  );
  expect(options.filter((option) => !known[name ?? ""]?.includes(option))).toEqual([]);
  const files = rest.flatMap((word) => /^(?:\w+=)?(examples\/.+)$/.exec(word)?.[1] ?? []);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
}
