/**
 * Reads the live settings that earlier versions kept in a parameter of Systems Manager. Every update of that resource, even of its tags
 * alone, let CloudFormation write the template's `{}` over what was pushed. This file goes in the next release, with the parameter.
 */
import type {
  GetParameterHistoryRequest,
  GetParameterHistoryResult,
  GetParameterRequest,
  GetParameterResult,
  ParameterHistory,
} from "@aws-sdk/client-ssm";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { type AwsClient, createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { engineLimits } from "@sekisho/runtime/engine/aws/client.ts";

export type Ssm = AwsClient<{
  GetParameter: { input: GetParameterRequest; output: GetParameterResult };
  GetParameterHistory: { input: GetParameterHistoryRequest; output: GetParameterHistoryResult };
}>;

export type FormerSettings = { settings: string; version: number };

export function openSsm(aws: AwsDependencies): Ssm {
  return createJsonClient({ ...aws, ...engineLimits, service: "ssm" });
}

const templateValue = "{}";
/** Systems Manager keeps the last 100 versions of a parameter, and a page has at most 50. */
const pageSize = 50;

/**
 * Resolves to what was pushed last, and to undefined if nothing was. A `{}` that CloudFormation wrote is no push, so the version before it
 * counts. A `{}` that a person wrote drops the settings, and is a push.
 */
export function createReadFormer({
  ssm,
  name,
}: {
  ssm: Ssm;
  name: string;
}): () => Promise<FormerSettings | undefined> {
  return async () => {
    const current = await ssm.call("GetParameter", { Name: name }).catch((error: unknown) => {
      // Somebody has deleted it. Nothing is left to take over, and a push must be possible.
      if (error instanceof Error && error.name === "ParameterNotFound") return undefined;
      throw error;
    });
    if (current === undefined) return undefined;
    const { Parameter: { Value, Version = 1 } = {} } = current;
    if (Value === undefined)
      throw new Error(`The parameter ${name} of Systems Manager holds no text.`);
    if (Value !== templateValue) return { settings: Value, version: Version };
    if (Version === 1) return undefined;
    const pushes = (await readHistory({ ssm, name })).filter((each) => !isOfTemplate(each));
    const [last] = pushes.sort((one, other) => (other.Version ?? 0) - (one.Version ?? 0));
    return last && { settings: last.Value ?? templateValue, version: last.Version ?? 0 };
  };
}

async function readHistory({ ssm, name }: { ssm: Ssm; name: string }): Promise<ParameterHistory[]> {
  const history: ParameterHistory[] = [];
  let next: string | undefined;
  do {
    const input = { Name: name, MaxResults: pageSize, ...(next && { NextToken: next }) };
    const { Parameters = [], NextToken } = await ssm.call("GetParameterHistory", input);
    history.push(...Parameters);
    next = NextToken;
  } while (next);
  return history;
}

/** CDK has CloudFormation assume a role of its own, in a session with this name. */
function isOfTemplate({ Value, LastModifiedUser = "" }: ParameterHistory): boolean {
  return Value === templateValue && LastModifiedUser.endsWith("/AWSCloudFormation");
}
