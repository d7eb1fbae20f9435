/** The seam of files: those of a message on their way in, those of an answer on their way out. */
import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import type { Outcome, Task } from "../task/task.ts";

/** A file that cannot be taken along, for good; what it is about is in `outcome`. */
export class FileRefused extends Error {
  readonly outcome: Extract<Outcome, { type: "file_refused" }>;

  constructor(outcome: Omit<Extract<Outcome, { type: "file_refused" }>, "type">, options?: { cause?: unknown }) {
    super("A file cannot be taken along.", options);
    this.name = "FileRefused";
    this.outcome = { type: "file_refused", ...outcome };
  }
}

export type Files = {
  /**
   * Brings the message's files to where the Execution zone can read them without Slack's token. Repeated, it gives what leads to
   * the same bytes. Rejects with a FileRefused, or with a SlackError where it may work another time.
   */
  bringIn(request: { task: Task; signal: AbortSignal }): Promise<NonNullable<ExecuteTaskParams["attachments"]>>;
  /**
   * Uploads the answer's file of that index (`outgoingFiles`), so that Slack has it and nobody sees it yet. Rejects with a
   * FileRefused, or with a SlackError where it may work another time.
   */
  upload(request: { task: Task; index: number; signal: AbortSignal }): Promise<{ fileId: string }>;
};
