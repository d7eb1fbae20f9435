/** What the Verification stack of a stage published about itself. */
import { verificationOutputs } from "../../lib/names.ts";
import { requireVerificationAccount } from "./account.ts";
import { outputsOfStack } from "./outputs-of-stack.ts";
import type { NamedStage } from "./stage.ts";

export type StackOutputs = Record<keyof typeof verificationOutputs, string>;

/** Rejects with what to do where the credentials are of another account, or the stack is not deployed or an older one. */
export async function readStackOutputs({
  stageName,
  stage,
  signal,
}: NamedStage & { signal: AbortSignal }): Promise<StackOutputs> {
  await requireVerificationAccount({ stageName, stage, signal });
  const { account, region } = stage.verification;
  const where = `account ${account}, ${region}`;
  const outputs = await outputsOfStack({ stageName, zone: "Verification", region, where, signal });
  return {
    eventsUrl: outputs.require(verificationOutputs.eventsUrl),
    queueUrl: outputs.require(verificationOutputs.queueUrl),
    deadLettersUrl: outputs.require(verificationOutputs.deadLettersUrl),
    tableName: outputs.require(verificationOutputs.tableName),
    routesParameter: outputs.require(verificationOutputs.routesParameter),
    deployedDestinations: outputs.require(verificationOutputs.deployedDestinations),
    // Of a stack that was deployed before it had this output.
    executionAddress: outputs.find(verificationOutputs.executionAddress) ?? "null",
    filesBucket: outputs.find(verificationOutputs.filesBucket) ?? "",
  };
}
