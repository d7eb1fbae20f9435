/** From what is thrown while tasks are read to words for a person: those that we wrote, and no others. */
import { EngineFileError } from "../../lambdas/shared/engine/sqlite/open-file.ts";
import { AwsFailure } from "../aws/aws-failure.ts";

export function explain(thrown: unknown): string {
  if (thrown instanceof AwsFailure || thrown instanceof EngineFileError) return thrown.message;
  return "The tasks cannot be read now. The terminal in which the page was started says more.";
}
