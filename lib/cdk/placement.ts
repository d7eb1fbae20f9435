/** Checks that a construct is in a stack of the account and the region that the configuration names. */

import { ConfigError } from "@sekisho/config/config-error.ts";
import { Stack, Token } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { ZoneStack } from "./names.ts";

type Placement = {
  zone: ZoneStack;
  stageName: string;
  account: string;
  /** Undefined if any region will do. */
  region?: string;
};

/**
 * Throws a ConfigError if the stack of `scope` is elsewhere. Policies and the command line use the configured account and region,
 * so a stage in another place would deploy and then not work.
 */
export function checkPlacement(
  scope: Construct,
  { zone, stageName, account, region }: Placement,
): void {
  const stack = Stack.of(scope);
  const place = formatPlace({ account, ...(region !== undefined && { region }) });
  const expectation = `the stage ${stageName} has its ${zone} stack in ${place}`;
  const env = { account, region: region ?? "REGION" };
  const remedy = `give the stack env: { account: "${env.account}", region: "${env.region}" }`;
  const unknown =
    Token.isUnresolved(stack.account) || (region !== undefined && Token.isUnresolved(stack.region));
  if (unknown) throw refuse(stack, `it has no env, but ${expectation}: ${remedy}`);
  if (stack.account === account && (region === undefined || stack.region === region)) return;
  const actual = formatPlace({
    account: stack.account,
    ...(region !== undefined && { region: stack.region }),
  });
  throw refuse(
    stack,
    `it is in ${actual}, but ${expectation}: change the configuration, or ${remedy}`,
  );
}

function formatPlace({ account, region }: { account: string; region?: string }): string {
  return region === undefined
    ? `the account ${account}`
    : `the account ${account} and the region ${region}`;
}

function refuse(stack: Stack, problem: string): ConfigError {
  return new ConfigError(`The stack ${stack.stackName}`, [problem]);
}
