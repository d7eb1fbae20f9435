/** Reads what an issuer publishes, as verifiers do. */
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { createHttpClient, upTo } from "@sekisho/runtime/http/client.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { discoveryPath } from "./documents.ts";

const maxBytes = 256 * 1024;
const timeoutMs = 10_000;

/** `problem` is a sentence for a person. */
export type Published = { kids: readonly string[]; problem?: string };

/** Reads the discovery document and the keys. Follows no redirect, because many verifiers follow none. Never rejects. */
export async function readPublished(request: {
  issuer: string;
  signal: AbortSignal;
}): Promise<Published> {
  const { issuer } = request;
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
  const http = createHttpClient();
  const fail = (problem: string): Published => ({ kids: [], problem });

  async function read(address: string): Promise<Record<string, unknown> | string> {
    const url = parseCheckedUrl(address);
    const headers = { accept: "application/json" };
    const { status, body } = await http.send({
      ...{ method: "GET", url, headers, signal, collect: upTo(maxBytes) },
    });
    if (status >= 300 && status < 400)
      return `${address} redirects (HTTP ${status}), which verifiers do not follow.`;
    if (status === 401 || status === 403)
      return `${address} is not public (HTTP ${status}). Verifiers read it without credentials.`;
    if (status !== 200) return `${address} answers HTTP ${status}.`;
    const json = parseJson(body.toString());
    return isJsonObject(json) ? json : `${address} is no JSON object.`;
  }

  try {
    const address = `${issuer}/${discoveryPath}`;
    const discovery = await read(address);
    if (typeof discovery === "string") return fail(discovery);
    if (discovery.issuer !== issuer)
      return fail(
        `${address} has another issuer than ${issuer}. Verifiers compare each character.`,
      );
    const { jwks_uri: jwksUri } = discovery;
    if (typeof jwksUri !== "string") return fail(`${address} has no jwks_uri.`);
    const jwks = await read(jwksUri);
    if (typeof jwks === "string") return fail(jwks);
    const keys: unknown[] = Array.isArray(jwks.keys) ? jwks.keys : [];
    return { kids: keys.flatMap((key) => (isJsonObject(key) ? String(key.kid) : [])) };
  } catch {
    return fail(`${issuer} does not answer, or not over https with a certificate that is trusted.`);
  } finally {
    http.close();
  }
}
