/** Secrets Manager and Systems Manager, as far as functions read them. */
import { createHash } from "node:crypto";
import type { Resolver } from "../template/resolve.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";

export type CachedValues = {
  secrets: Backend;
  parameters: Backend;
  /** By name. */
  secretValues: Map<string, string>;
  parameterValues: Map<string, string>;
};

/** A secret's ARN ends in six characters that nobody knows before it is created. */
export function secretArn({ id, account, region }: { id: string; account: string; region: string }): string {
  if (id.startsWith("arn:")) return id;
  const suffix = createHash("sha256").update(id).digest("hex").slice(0, 6);
  return `arn:aws:secretsmanager:${region}:${account}:secret:${id}-${suffix}`;
}

export function keepValues({
  resolver,
  secrets,
  onProblem,
}: {
  resolver: Resolver;
  secrets: Record<string, string>;
  onProblem: (problem: string) => void;
}): CachedValues {
  const secretValues = new Map(Object.entries(secrets));
  const parameterValues = new Map(
    resolver
      .resources("AWS::SSM::Parameter")
      .map((parameter) => [resolver.ref(parameter), String(parameter.properties.Value)] as const),
  );
  return {
    secretValues,
    parameterValues,
    async secrets({ call: { action, input }, caller }) {
      const id = String(input.SecretId);
      const value = secretValues.get(id) ?? secretValues.get(/:secret:(.*)-[^-]{6}$/.exec(id)?.[1] ?? "");
      if (action === "secretsmanager:GetSecretValue" && value !== undefined)
        return Response.json({ Name: id, SecretString: value });
      if (action === "secretsmanager:DescribeSecret" && value !== undefined)
        return Response.json({ Name: id, VersionIdsToStages: { "v-1": ["AWSCURRENT"] } });
      onProblem(`${caller.name} asked for ${action} of the secret ${id}, which nobody has put.`);
      return awsFailure({ service: "secretsmanager", name: "ResourceNotFoundException" });
    },
    async parameters({ call: { action, input }, caller }) {
      const Name = String(input.Name);
      const Value = parameterValues.get(Name);
      if (action === "ssm:GetParameter" && Value !== undefined)
        return Response.json({ Parameter: { Name, Value, Type: "String", Version: 1 } });
      onProblem(`${caller.name} asked for ${action} of the parameter ${Name}, which no template has.`);
      return awsFailure({ service: "ssm", name: "ParameterNotFound" });
    },
  };
}
