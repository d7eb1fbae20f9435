/** What a function or a runtime needs to send spans: the right to hand them to X-Ray, the secrets of a collector, or a layer. */

import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { acknowledge } from "./acknowledge.ts";
import { readSecrets } from "./permissions.ts";

/** X-Ray knows no resources; the first is what a collector calls, the others are what the OTLP endpoint asks for. */
const actions = ["xray:PutTraceSegments", "xray:PutSpans", "xray:PutSpansForIndexing"];

/** `layer`: there is a collector beside the function, which sends in its name. */
export function permitSpans(
  scope: Construct,
  { role, config, layer }: { role: IRole; config: Pick<Config, "telemetry">; layer?: string | undefined },
): void {
  const { exporter } = config.telemetry.traces;
  if (exporter.type === "otlp") {
    const secrets = Object.values(exporter.headers).flatMap((secret) =>
      "secretsManager" in secret ? [secret.secretsManager] : [],
    );
    if (secrets.length > 0) role.addToPrincipalPolicy(readSecrets(scope, secrets));
  }
  if (exporter.type !== "xray" && layer === undefined) return;
  role.addToPrincipalPolicy(new PolicyStatement({ actions, resources: ["*"] }));
  acknowledge(role, { findings: ["AwsSolutions-IAM5[Resource::*]"], reason: "X-Ray has no resources to be named." });
}
