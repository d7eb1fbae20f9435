/** A step that failed when its lease was taken: until the lease is over nobody can go on, so its message need not come earlier. */

export class InterruptedStep extends Error {
  readonly leaseUntilMs: number;

  constructor({ leaseUntilMs, cause }: { leaseUntilMs: number; cause: unknown }) {
    super("The step was interrupted.", { cause });
    // What the log says of it is what interrupted it.
    this.name = cause instanceof Error ? cause.name : "InterruptedStep";
    this.leaseUntilMs = leaseUntilMs;
  }
}
