/** From what is thrown while tasks are read to words for a person: those that we wrote, and no others. */

import { EngineFileError, toFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { errorKind } from "../../../lambdas/shared/telemetry/error-kind.ts";
import { AwsFailure } from "../../cli/aws/aws-failure.ts";
import { NoSuchTask } from "../../cli/tasks/find-task.ts";

export type Explain = (thrown: unknown) => string;

const forPeople = [AwsFailure, EngineFileError, NoSuchTask];

/** What nobody has words for is told to the log, the same thing once in a row. */
export function createExplain({ log }: { log: Log }): Explain {
  let last: string | undefined;
  return (error) => {
    const thrown = toFileError({ error, file: "The file of tasks" }) ?? error;
    if (thrown instanceof Error && forPeople.some((kind) => thrown instanceof kind)) return thrown.message;
    const cause = errorKind(thrown);
    if (cause !== last) log.warn("operator_page_failed", { cause_kind: cause });
    last = cause;
    return "That cannot be read or done now. The page's log, in the terminal where it was started, says more.";
  };
}
