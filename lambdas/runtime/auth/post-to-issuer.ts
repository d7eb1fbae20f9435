/** Sends one POST to a token issuer, with the limits of a call. Its failure is never `ambiguous`. */
import { parseRetryAfter } from "../async/waiting.ts";
import { createHttpClient, HttpError, type HttpHead, upTo } from "../http/client.ts";
import { isJsonObject, parseJson } from "../untrusted-input.ts";
import { codeOf, createCredentialError, parseCheckedUrl } from "./authorizer.ts";

const maxResponseBytes = 64 * 1024;

/**
 * Sends a form, or an object as JSON. Resolves to the JSON object of a 2xx. Rejects with `unauthenticated` or `unavailable`. The
 * connection is not kept alive, because the peer would have closed it before the next token is needed.
 */
export async function postToIssuer(request: {
  url: string | URL;
  body: URLSearchParams | Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}): Promise<Record<string, unknown>> {
  const { url: address, body, headers = {}, signal } = request;
  const url = parseCheckedUrl(String(address));
  const isForm = body instanceof URLSearchParams;
  const http = createHttpClient();
  const response = await http
    .send({
      method: "POST",
      url,
      headers: {
        "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json",
        accept: "application/json",
        "accept-encoding": "identity",
        ...headers,
      },
      body: isForm ? body.toString() : JSON.stringify(body),
      signal,
      collect: upTo(maxResponseBytes),
    })
    .catch((error: unknown) => {
      const code = signal.aborted ? "TimeoutError" : readFailureCode(error);
      throw createCredentialError({ code });
    })
    .finally(() => http.close());
  return readAnswer(response);
}

function readFailureCode(error: unknown): string {
  if (!(error instanceof HttpError)) return codeOf(error);
  return error.cause === undefined ? error.kind : codeOf(error.cause);
}

function readAnswer({
  status,
  headers,
  body,
}: HttpHead & { body: Uint8Array }): Record<string, unknown> {
  const answer = parseJson(Buffer.from(body).toString());
  const refusal = readRefusal(answer);
  if (status < 300 && isJsonObject(answer) && refusal === undefined) return answer;
  throw createCredentialError({
    // Some issuers refuse with a 200.
    status: status < 300 && refusal !== undefined ? 400 : status,
    code: refusal ?? `Http${status}`,
    retryAfterMs: parseRetryAfter({ header: headers["retry-after"], nowMs: Date.now() }),
  });
}

/**
 * Reads `error` of OAuth 2 (RFC 6749, section 5.2), or `error.status` of Google's APIs. Accepts only the form of such a code, because an
 * issuer may repeat a secret that was sent to it.
 */
function readRefusal(answer: unknown): string | undefined {
  const error = isJsonObject(answer) ? answer.error : undefined;
  const [code, form] = isJsonObject(error)
    ? [error.status, /^[A-Z]+(_[A-Z]+)*$/]
    : [error, /^[a-z]+(_[a-z]+)+$/];
  return typeof code === "string" && code.length <= 40 && form.test(code) ? code : undefined;
}
