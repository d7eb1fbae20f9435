/** Why an agent elsewhere gave no answer. */

/**
 * Why a call has no answer. `kind` is for the log: it names an event, a member or a status, and never repeats what the agent wrote. `lost`
 * means that the agent may have done the work.
 */
export class RemoteError extends Error {
  readonly kind: string;
  readonly lost: boolean;
  readonly status: number | undefined;

  constructor(kind: string, { lost, status }: { lost: boolean; status?: number | undefined }) {
    super(`The agent elsewhere gave no answer: ${kind}.`);
    this.name = "RemoteError";
    this.kind = kind;
    this.lost = lost;
    this.status = status;
  }
}

/** The agent has begun to answer, and nobody knows what it did. `problem` holds names of the protocol only. */
export function createEventError(problem: string): RemoteError {
  return new RemoteError(problem, { lost: true });
}
