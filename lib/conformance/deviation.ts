/** The two errors with which a case does not pass. */

/** The endpoint breaks the case. The message says what came. */
export class Deviation extends Error {
  override name = "Deviation";
  /** The request that it is about, where that was not the latest one of the case. */
  sent: string | undefined;
}

/** The case cannot be tried with this endpoint. The message says why. */
export class NotApplicable extends Error {
  override name = "NotApplicable";
}
