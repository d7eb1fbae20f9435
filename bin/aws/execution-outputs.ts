/** What the Execution stack of a stage published about itself. */
import { executionOutputs } from "../../lib/names.ts";
import { outputsOfStack } from "./outputs-of-stack.ts";
import type { NamedStage } from "./stage.ts";

/** The name of its task table. Rejects with what to do where the stack is not deployed, or an older one. */
export async function readExecutionTable({
  stageName,
  region,
  signal,
}: Pick<NamedStage, "stageName"> & { region: string; signal: AbortSignal }): Promise<string> {
  const outputs = await outputsOfStack({ stageName, zone: "Execution", region, where: region, signal });
  return outputs.require(executionOutputs.tableName);
}
