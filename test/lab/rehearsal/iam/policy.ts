/** Reads policy documents into statements whose fields are lists. */

export type Principals = { aws: string[]; services: string[]; everyone: boolean };

export type Condition = { operator: string; key: string; values: string[] };

export type Statement = {
  effect: "Allow" | "Deny";
  /** Absent in the policies of a role. */
  principals: Principals | undefined;
  actions: string[];
  resources: string[];
  conditions: Condition[];
  /** The label of the resource that holds the statement, for messages. */
  source: string;
};

const knownFields = new Set(["Sid", "Effect", "Principal", "Action", "Resource", "Condition"]);

/** `document` has all intrinsics resolved. Throws for a field that the rehearsal does not know. */
export function parsePolicy({
  document,
  source,
}: {
  document: unknown;
  source: string;
}): Statement[] {
  return listOf(recordOf(document).Statement).map((json) => {
    const statement = recordOf(json);
    const unknown = Object.keys(statement).filter((field) => !knownFields.has(field));
    if (unknown.length > 0)
      throw new Error(`${source}: a policy statement has ${unknown.join(", ")}.`);
    const { Effect: effect } = statement;
    if (effect !== "Allow" && effect !== "Deny")
      throw new Error(`${source}: the Effect is ${String(effect)}.`);
    return {
      effect,
      principals: statement.Principal === undefined ? undefined : principalsOf(statement.Principal),
      actions: textsOf(statement.Action),
      resources: textsOf(statement.Resource),
      conditions: conditionsOf(statement.Condition),
      source,
    };
  });
}

function principalsOf(json: unknown): Principals {
  if (json === "*") return { aws: [], services: [], everyone: true };
  const { AWS, Service, ...others } = recordOf(json);
  if (Object.keys(others).length > 0)
    throw new Error(`A principal is ${Object.keys(others).join(", ")}.`);
  const aws = textsOf(AWS);
  return {
    aws: aws.filter((arn) => arn !== "*"),
    services: textsOf(Service),
    everyone: aws.includes("*"),
  };
}

function conditionsOf(json: unknown): Condition[] {
  return Object.entries(recordOf(json ?? {})).flatMap(([operator, keys]) =>
    Object.entries(recordOf(keys)).map(([key, values]) => ({
      operator,
      key,
      values: textsOf(values),
    })),
  );
}

function textsOf(json: unknown): string[] {
  return listOf(json).map(String);
}

function listOf(json: unknown): unknown[] {
  if (json === undefined) return [];
  return Array.isArray(json) ? json : [json];
}

function recordOf(json: unknown): Record<string, unknown> {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new Error("A policy is no object.");
  return json as Record<string, unknown>;
}
