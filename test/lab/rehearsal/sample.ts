/** Small handwritten templates with functions of a line or two, for tests of the rehearsal itself. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "@jest/globals";
import { type Caller, createCaller } from "./aws/callers.ts";
import { type Backend, type Gateway, startGateway } from "./aws/gateway.ts";
import { impliedBy } from "./aws/implied.ts";
import { type Authority, createAuthority } from "./iam/authority.ts";
import { collectPolicies } from "./iam/policies.ts";
import { type Concurrency, createConcurrency } from "./lambda/concurrency.ts";
import { type RunningFunction, runFunction } from "./lambda/function.ts";
import type { Assembly } from "./template/assembly.ts";
import { createResolver, type Resolver } from "./template/resolve.ts";
import { functionsOf } from "./template/wiring.ts";

export const near = { account: "111111111111", region: "eu-central-1" };
export const far = { account: "222222222222", region: "eu-central-1" };

export type Resources = Record<string, { Type: string; Properties?: Record<string, unknown> }>;

export type Sample = {
  assembly: Assembly;
  resolver: Resolver;
  authority: Authority;
  /** By ARN. */
  functions: ReadonlyMap<string, RunningFunction>;
  problems: string[];
  onProblem: (problem: string) => void;
  close(): Promise<void>;
};

const closing: (() => unknown)[] = [];

/** Runs `step` after the test, before the steps that were added earlier. */
export function closeAfterTest(step: () => unknown): void {
  closing.push(step);
}

afterEach(async () => {
  for (const step of closing.splice(0).reverse()) await step();
});

/** Every function has `code` as its bundle. It is closed after the test. */
export function createSample({
  stacks,
  code = "",
  concurrency = createConcurrency(),
}: {
  stacks: { place: typeof near; resources: Resources }[];
  code?: string;
  concurrency?: Concurrency;
}): Sample {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-sample-"));
  writeFileSync(join(folder, "index.js"), code);
  const assembly: Assembly = {
    stacks: stacks.map(({ place, resources }, index) => ({
      name: `Sample${index}`,
      ...place,
      template: {
        Parameters: {},
        Outputs: {},
        Resources: Object.fromEntries(
          Object.entries(resources).map(([id, { Type, Properties = {} }]) => [
            id,
            { Type, Properties },
          ]),
        ),
      },
    })),
    assetFolder: () => folder,
  };
  const resolver = createResolver({ assembly });
  const problems: string[] = [];
  const onProblem = (problem: string) => void problems.push(problem);
  const functions = new Map<string, RunningFunction>();
  for (const fn of functionsOf({ assembly, resolver })) {
    const onFailure = (error: string) => onProblem(`${fn.label} failed: ${error}`);
    functions.set(
      fn.arn,
      runFunction({
        fn,
        environment: {},
        concurrency,
        onStart: () => {},
        onLine: () => {},
        onFailure,
      }),
    );
  }
  const close = async () => {
    await Promise.all([...functions.values()].map((fn) => fn.close()));
    rmSync(folder, { recursive: true, force: true });
  };
  closeAfterTest(close);
  const authority = createAuthority({ policies: collectPolicies({ resolver }) });
  return { assembly, resolver, authority, functions, problems, onProblem, close };
}

/** Starts a gateway in front of the backends. It knows the caller, and is closed after the test. */
export async function startSampleGateway(
  { resolver, authority, onProblem }: Sample,
  { backends, caller }: { backends: Record<string, Backend>; caller?: Caller },
): Promise<Gateway> {
  const gateway = await startGateway({
    authority,
    implied: impliedBy({ resolver }),
    backends,
    onProblem,
  });
  closeAfterTest(gateway.close);
  if (caller !== undefined) gateway.register(caller);
  return gateway;
}

export function sampleFunction(role = "Role"): Resources[string] {
  const Role = { "Fn::GetAtt": [role, "Arn"] };
  return {
    Type: "AWS::Lambda::Function",
    Properties: { Role, Code: { S3Key: "code" }, Handler: "index.handler" },
  };
}

export function sampleRole(statements: unknown[] = [], name?: string): Resources[string] {
  return {
    Type: "AWS::IAM::Role",
    Properties: {
      ...(name === undefined ? {} : { RoleName: name }),
      AssumeRolePolicyDocument: { Statement: [] },
      Policies: [{ PolicyDocument: { Statement: statements } }],
    },
  };
}

/** Returns a caller under the role of this logical id. */
export function sampleCaller({ resolver }: Sample, logicalId: string): Caller {
  const role = resolver
    .resources("AWS::IAM::Role")
    .find((candidate) => candidate.logicalId === logicalId);
  if (role === undefined) throw new Error(`There is no role ${logicalId}.`);
  const { account, region } = role.stack;
  return createCaller({ name: "Caller", kind: "code", roleArn: role.arn, account, region });
}
