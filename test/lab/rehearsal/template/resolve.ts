/** Resolves the intrinsics of templates as CloudFormation does. An unknown intrinsic throws. */
import type { Assembly, Stack } from "./assembly.ts";
import { identityOf } from "./physical.ts";

export type Resource = {
  stack: Stack;
  logicalId: string;
  /** The zone and the logical id, for messages. */
  label: string;
  type: string;
  /** Resolved at the first use. */
  readonly properties: Record<string, unknown>;
  /** The value of `Ref`. */
  readonly ref: string;
  readonly arn: string;
  /** The values of `Fn::GetAtt`. */
  attribute(name: string): string;
};

export type Resolver = {
  /** The resources of one type, in all stacks. */
  resources(type: string): Resource[];
  byArn(type: string, arn: string): Resource | undefined;
  /** Resolves a value of the stack's template. */
  resolve(value: unknown, stack: Stack): unknown;
  output(request: { stackName: string; name: string }): string;
};

type Intrinsic = (argument: unknown, stack: Stack) => unknown;

export function createResolver({ assembly }: { assembly: Assembly }): Resolver {
  const intrinsics: Record<string, Intrinsic> = {
    Ref: (name, stack) => refOf(stack, String(name)),
    "Fn::GetAtt": (argument, stack) => {
      const [logicalId = "", ...names] = Array.isArray(argument)
        ? argument.map(String)
        : String(argument).split(".");
      return attributeOf(stack, logicalId, names.join("."));
    },
    "Fn::Join": (argument, stack) => {
      const [separator, parts] = argument as [string, unknown];
      return (resolve(parts, stack) as unknown[]).map(String).join(separator);
    },
    "Fn::Sub": substitute,
    "Fn::GetStackOutput": (argument, stack) => {
      const { StackName, OutputName, Region } = resolve(argument, stack) as Record<string, unknown>;
      return outputOf({ stackName: String(StackName), name: String(OutputName), region: Region });
    },
  };

  function resolve(value: unknown, stack: Stack): unknown {
    if (Array.isArray(value))
      return value.map((entry) => resolve(entry, stack)).filter((entry) => entry !== noValue);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    const [first] = entries;
    if (
      entries.length === 1 &&
      first !== undefined &&
      (first[0] === "Ref" || first[0].startsWith("Fn::"))
    ) {
      const intrinsic = intrinsics[first[0]];
      if (intrinsic === undefined)
        throw new Error(`${stack.name}: ${first[0]} is not known to the rehearsal.`);
      return intrinsic(first[1], stack);
    }
    const resolved = entries.map(([key, entry]) => [key, resolve(entry, stack)] as const);
    return Object.fromEntries(resolved.filter(([, entry]) => entry !== noValue));
  }

  function refOf(stack: Stack, name: string): unknown {
    const pseudo = pseudoParameters(stack)[name];
    if (pseudo !== undefined) return pseudo;
    const parameter = stack.template.Parameters[name];
    if (parameter !== undefined) return parameter.Default;
    return identify(stack, name).ref;
  }

  function attributeOf(stack: Stack, logicalId: string, name: string): string {
    const value = identify(stack, logicalId).attributes[name];
    if (value === undefined) {
      const type = stack.template.Resources[logicalId]?.Type;
      throw new Error(
        `${stack.name}: the rehearsal does not know ${name} of ${logicalId} (${String(type)}).`,
      );
    }
    return value;
  }

  function identify(stack: Stack, logicalId: string) {
    const found = stack.template.Resources[logicalId];
    if (found === undefined) throw new Error(`${stack.name} has no resource ${logicalId}.`);
    const place = {
      stackName: stack.name,
      account: stack.account,
      region: stack.region,
      logicalId,
    };
    const properties = resolveNames(found.Properties, stack);
    const identity = identityOf({ type: found.Type, place, properties });
    if (identity === undefined)
      throw new Error(`${stack.name}: ${logicalId} is a ${found.Type}, not known here.`);
    return identity;
  }

  /** Resolves only the properties that make up names. Resolving all of them could run in circles. */
  function resolveNames(
    properties: Record<string, unknown>,
    stack: Stack,
  ): Record<string, unknown> {
    const needed = Object.entries(properties).filter(([key]) =>
      /Name$|^Path$|^Type$|^AgentRuntimeId$|^TargetFunctionArn$/.test(key),
    );
    return Object.fromEntries(needed.map(([key, value]) => [key, resolve(value, stack)]));
  }

  function substitute(text: unknown, stack: Stack): string {
    if (typeof text !== "string")
      throw new Error(`${stack.name}: Fn::Sub with variables is not known to the rehearsal.`);
    return text.replace(/\$\{([^}]+)\}/g, (_, name: string) => {
      const [logicalId = "", ...rest] = name.split(".");
      return rest.length === 0
        ? String(refOf(stack, name))
        : attributeOf(stack, logicalId, rest.join("."));
    });
  }

  function outputOf({
    stackName,
    name,
    region,
  }: {
    stackName: string;
    name: string;
    region?: unknown;
  }): string {
    const stack = assembly.stacks.find((candidate) => candidate.name === stackName);
    const output = stack?.template.Outputs[name];
    if (stack === undefined || output === undefined)
      throw new Error(`There is no output ${name} of ${stackName}.`);
    if (region !== undefined && region !== stack.region)
      throw new Error(`${stackName} is not in ${String(region)}.`);
    return String(resolve(output.Value, stack));
  }

  const all = assembly.stacks.flatMap((stack) =>
    Object.entries(stack.template.Resources).map(([logicalId, { Type, Properties }]): Resource => {
      let properties: Record<string, unknown> | undefined;
      return {
        stack,
        logicalId,
        label: `${stack.name.split("-").at(-1)}/${logicalId}`,
        type: Type,
        get properties() {
          properties ??= resolve(Properties, stack) as Record<string, unknown>;
          return properties;
        },
        get ref() {
          return identify(stack, logicalId).ref;
        },
        get arn() {
          return attributeOf(stack, logicalId, "Arn");
        },
        attribute: (name) => attributeOf(stack, logicalId, name),
      };
    }),
  );
  const resources = (type: string) => all.filter((resource) => resource.type === type);
  return {
    resources,
    byArn: (type, arn) => resources(type).find((resource) => resource.arn === arn),
    resolve,
    output: outputOf,
  };
}

const noValue = Symbol("AWS::NoValue");

function pseudoParameters({ name, account, region }: Stack): Record<string, unknown> {
  return {
    "AWS::AccountId": account,
    "AWS::Region": region,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": name,
    "AWS::NoValue": noValue,
  };
}
