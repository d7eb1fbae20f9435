import { isNewerRecord, NewerRecordError } from "@sekisho/runtime/engine/record-version.ts";
import { findProxyError } from "@sekisho/runtime/http/tunnel.ts";

/**
 * A failed AWS call, with a message that says what to do. The message never holds AWS's own text, which may repeat secrets of
 * the request. `unreachable` is true if nothing answered.
 */
export class AwsFailure extends Error {
  readonly unreachable: boolean;

  constructor(
    message: string,
    { unreachable = false, cause }: { unreachable?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = "AwsFailure";
    this.unreachable = unreachable;
  }
}

/** The region of a call, and the signal that ends it. */
export type AwsCall = { region: string; signal: AbortSignal };

const callTimeoutMs = 20_000;

type SdkCall<T> = {
  doing: string;
  signal: AbortSignal;
  timeoutMs?: number;
  call: (options: { abortSignal: AbortSignal }) => Promise<T>;
};

/** Runs one call of an SDK client with a deadline. `doing` completes "Could not ...". Rejects with an AwsFailure. */
export async function callAws<T>({
  doing,
  signal,
  timeoutMs = callTimeoutMs,
  call,
}: SdkCall<T>): Promise<T> {
  try {
    return await call({ abortSignal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  } catch (error) {
    if (signal.aborted) throw new AwsFailure(`Interrupted. Could not ${doing}.`, { cause: error });
    throw explain({ doing, thrown: error });
  }
}

/** The service's own name of the error, such as `ResourceNotFoundException`. */
export function errorNameOf(failure: unknown): string {
  const error = failure instanceof AwsFailure ? failure.cause : failure;
  return error instanceof Error ? error.name : "";
}

/** True if AWS was not called, because there are no credentials. */
export function lacksCredentials(failure: unknown): boolean {
  return /^(CredentialsProviderError|TokenProviderError)$/.test(errorNameOf(failure));
}

function explain({ doing, thrown: error }: { doing: string; thrown: unknown }): AwsFailure {
  const name = errorNameOf(error).replace(/[^\w.]/g, "");
  // Undefined where no response came.
  const status: number | undefined = Object(Object(error).$metadata).httpStatusCode;
  const toFailure = (what: string, unreachable = false) =>
    new AwsFailure(`Could not ${doing}: ${what}`, { unreachable, cause: error });
  const proxyError = findProxyError(error);
  if (proxyError !== undefined) return toFailure(proxyError.message, true);
  // AWS has answered, with a record that this version cannot read.
  if (isNewerRecord(error)) return toFailure(new NewerRecordError().message);
  if (name === "ItemError") {
    return toFailure(
      "the record in the table is damaged. Restore or delete it, as docs/how-to/restore.md says.",
    );
  }
  if (lacksCredentials(error)) {
    return toFailure(
      "there are no AWS credentials. Set AWS_PROFILE, or log in as for the AWS command line.",
    );
  }
  if (
    /Expired|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidSignature/.test(
      name,
    )
  ) {
    return toFailure(
      `AWS does not accept these credentials (${name}). Log in again, or set another AWS_PROFILE.`,
    );
  }
  if (status === 403 || /AccessDenied|NotAuthorized/.test(name)) {
    return toFailure(
      `these credentials lack the permission (${name}). Set AWS_PROFILE to a role that has it.`,
    );
  }
  if (status === 429 || /Throttl|TooManyRequests/.test(name)) {
    return toFailure(`AWS throttles these calls (${name}). Try again in a minute.`);
  }
  if (Object(error).code === "ERR_INVALID_URL")
    return toFailure("the environment variable AWS_ENDPOINT_URL is not a URL.");
  if (status === undefined) {
    return toFailure(
      "AWS does not answer. Check the network and, if it is set, AWS_ENDPOINT_URL.",
      true,
    );
  }
  if (status >= 500)
    return toFailure(
      `AWS reports an internal error (${name}, ${status}). Try again in a minute.`,
      true,
    );
  return toFailure(`AWS refused it (${name}, ${status}).`);
}
