/** A token issuer on loopback with a discovery document, key rotation, and bad answers on request. */
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from "jose";
import { startWebServer } from "../web-server.ts";

export type SigningKey = GenerateKeyPairResult & { kid: string; alg: string };

export type JwksIssuer = Awaited<ReturnType<typeof startJwksIssuer>>;

let keys = 0;

export async function newKey(alg = "ES256"): Promise<SigningKey> {
  return { ...(await generateKeyPair(alg, { extractable: true })), kid: `key-${++keys}`, alg };
}

export async function startJwksIssuer({ alg = "ES256" } = {}) {
  let current = await newKey(alg);
  let answer: (path: string) => Response | Promise<Response> | undefined = () => undefined;
  const fetchedPaths: string[] = [];
  const jwksPath = "/keys";

  const server = await startWebServer({
    async handle({ target }) {
      fetchedPaths.push(target);
      const own = await answer(target);
      if (own !== undefined) return own;
      if (target === jwksPath) return Response.json({ keys: [await publicJwk(current)] });
      if (target !== "/.well-known/openid-configuration")
        return new Response(null, { status: 404 });
      return Response.json({ issuer: server.url, jwks_uri: server.url + jwksPath });
    },
  });

  return {
    /** The `iss` of its tokens. */
    issuer: server.url,
    jwksUrl: server.url + jwksPath,
    /** The requested paths, in order. */
    fetched: fetchedPaths,
    /** The key that signs. */
    key: () => current,
    /** Replaces all published keys with a new one. */
    async rotate(next = alg): Promise<void> {
      current = await newKey(next);
    },
    /** Replaces answers by path. Undefined leaves the answer to the issuer. */
    misbehave(next: typeof answer): void {
      answer = next;
    },
    /** Signs with the current key. By default the issuer is this one, and the token lives for five minutes. */
    async sign(
      claims: Record<string, unknown>,
      header: Record<string, unknown> = {},
    ): Promise<string> {
      const nowSeconds = Math.floor(Date.now() / 1000);
      const payload = { iss: server.url, iat: nowSeconds, exp: nowSeconds + 300, ...claims };
      return signWith({ key: current, payload, header });
    },
    close: server.close,
  };
}

/** Claims that are undefined are left out. */
export function signWith({
  key,
  payload,
  header = {},
}: {
  key: SigningKey;
  payload: Record<string, unknown>;
  header?: Record<string, unknown>;
}): Promise<string> {
  const whole = JSON.parse(JSON.stringify(payload)) as JWTPayload;
  return new SignJWT(whole)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey);
}

export async function publicJwk({
  publicKey,
  kid,
  alg,
}: SigningKey): Promise<Record<string, unknown>> {
  return { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
}
