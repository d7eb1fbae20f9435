/** Reads what an issuer publishes, as verifiers do. */
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { createHttpClient, HttpError, upTo } from "@sekisho/runtime/http/client.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { createFailedCheck } from "@sekisho/verification/checks/failed-check.ts";
import { toSekishoError } from "@sekisho/verification/transport/send-once.ts";
import { discoveryPath } from "./documents.ts";

const maxBytes = 256 * 1024;
const maxReadMs = 10_000;

/** `problem` is a sentence for a person. Of the issuer's texts it holds only an address, encoded as a URL. */
export type Published = { keys: readonly Record<string, unknown>[]; problem?: string };

/**
 * Reads the discovery document and the keys. Follows no redirect, because many verifiers follow none. Rejects only if `signal` aborts.
 */
export async function readPublished(request: {
  issuer: string;
  /** For each of the two documents. */
  timeoutMs?: number;
  signal: AbortSignal;
}): Promise<Published> {
  const { issuer, timeoutMs = maxReadMs, signal } = request;
  const http = createHttpClient();
  const fail = (problem: string): Published => ({ keys: [], problem });

  async function read(url: URL): Promise<Record<string, unknown> | string> {
    const address = url.href;
    const timer = AbortSignal.timeout(timeoutMs);
    try {
      const { status, body } = await http.send({
        ...{ method: "GET", url, headers: { accept: "application/json" } },
        ...{ signal: AbortSignal.any([signal, timer]), collect: upTo(maxBytes) },
      });
      if (status !== 200) return describeStatus({ address, status });
      const json = parseJson(body);
      return isJsonObject(json) ? json : `${address} is not a JSON object.`;
    } catch (error) {
      signal.throwIfAborted();
      return describeFailure({ error, address, timedOutMs: timer.aborted ? timeoutMs : undefined });
    }
  }

  try {
    const url = parseCheckedUrl(`${issuer}/${discoveryPath}`);
    const discovery = await read(url);
    if (typeof discovery === "string") return fail(discovery);
    if (discovery.issuer !== issuer)
      return fail(
        `${url.href} has another issuer than ${issuer}. Verifiers compare each character.`,
      );
    const jwksUrl = typeof discovery.jwks_uri === "string" ? URL.parse(discovery.jwks_uri) : null;
    // The document must not make this machine read something else. `asker publish` writes the same origin.
    if (jwksUrl?.origin !== url.origin)
      return fail(`${url.href} has no jwks_uri below ${url.origin}.`);
    const jwks = await read(jwksUrl);
    if (typeof jwks === "string") return fail(jwks);
    if (!Array.isArray(jwks.keys)) return fail(`${jwksUrl.href} has no list of keys.`);
    return { keys: jwks.keys.filter(isJsonObject) };
  } finally {
    http.close();
  }
}

function describeStatus({ address, status }: { address: string; status: number }): string {
  if (status >= 300 && status < 400)
    return `${address} redirects (HTTP ${status}), which verifiers do not follow.`;
  if (status === 401 || status === 403)
    return `${address} is not public (HTTP ${status}). Verifiers read it without credentials.`;
  return `${address} answers HTTP ${status}.`;
}

function describeFailure(failure: {
  error: unknown;
  address: string;
  timedOutMs: number | undefined;
}): string {
  const { error, address, timedOutMs } = failure;
  const kind = error instanceof HttpError ? error.kind : undefined;
  if (kind === "too_large") return `${address} is larger than ${maxBytes / 1024} KiB.`;
  if (kind === "not_http") return `${address} does not answer with HTTP.`;
  const { summary } = createFailedCheck({
    ...{ thrown: toSekishoError(error), address, authorizer: "none", timedOutMs },
  });
  return `${address} cannot be read. ${summary}`;
}
