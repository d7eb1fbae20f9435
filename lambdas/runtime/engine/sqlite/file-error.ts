/** Errors of a zone's sqlite file, with messages that say what to do. */

/** The file cannot be used. The message says what to do. */
export class EngineFileError extends Error {
  override name = "EngineFileError";
}

/** Explains an error that sqlite throws after the file was opened. Undefined for other errors. */
export function toFileError({
  error,
  file,
}: {
  error: unknown;
  file: string;
}): EngineFileError | undefined {
  if (error instanceof EngineFileError) return error;
  return codeOf(error) === undefined
    ? undefined
    : new EngineFileError(findRemedy({ error, file }), { cause: error });
}

/** The primary result codes of sqlite: https://www.sqlite.org/rescode.html */
const resultCodes = { busy: 5, corrupt: 11, notADatabase: 26 };

function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null | undefined)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

export function findRemedy({ error, file }: { error: unknown; file: string }): string {
  const code = codeOf(error);
  if (code === resultCodes.notADatabase || code === resultCodes.corrupt) {
    return `${file} is not a database, or it is damaged. Restore it from a copy, or move it away to start with an empty one.`;
  }
  if (code === resultCodes.busy) {
    return `${file} is locked by another program. Close what has it open (a backup, a database browser) and start again.`;
  }
  return `${file} cannot be opened for writing. Check that its folder exists on a local disk with space, and who owns both.`;
}
