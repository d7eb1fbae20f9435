/** An issuer of tokens on loopback: discovery document, keys that rotate, and answers as bad as a test wants them. */
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { startWebServer } from "../web-server.ts";

export type SigningKey = GenerateKeyPairResult & { kid: string; alg: string };

export type JwksIssuer = {
  /** The `iss` of its tokens. */
  issuer: string;
  jwksUrl: string;
  /** The paths that were asked for, in their order. */
  fetched: string[];
  /** The key that signs. */
  key(): SigningKey;
  /** Another key takes the place of all that were published. */
  rotate(alg?: string): Promise<void>;
  /** Answers of the tests' own by path; undefined leaves it to the issuer. */
  misbehave(answer: (path: string) => Response | Promise<Response> | undefined): void;
  /** Signed with the present key, from this issuer, with five minutes to live, unless `claims` says otherwise. */
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
};

let keys = 0;

export async function newKey(alg = "ES256"): Promise<SigningKey> {
  return { ...(await generateKeyPair(alg, { extractable: true })), kid: `key-${++keys}`, alg };
}

export async function startJwksIssuer({ alg = "ES256" } = {}): Promise<JwksIssuer> {
  let current = await newKey(alg);
  let answer: (path: string) => Response | Promise<Response> | undefined = () => undefined;
  const fetched: string[] = [];
  const jwksPath = "/keys";

  const server = await startWebServer({
    async handle({ target }) {
      fetched.push(target);
      const own = await answer(target);
      if (own !== undefined) return own;
      if (target === jwksPath) return Response.json({ keys: [await publicJwk(current)] });
      if (target !== "/.well-known/openid-configuration") return new Response(null, { status: 404 });
      return Response.json({ issuer: server.url, jwks_uri: server.url + jwksPath });
    },
  });

  return {
    issuer: server.url,
    jwksUrl: server.url + jwksPath,
    fetched,
    key: () => current,
    async rotate(next = alg) {
      current = await newKey(next);
    },
    misbehave(next) {
      answer = next;
    },
    async sign(claims, header = {}) {
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
  return new SignJWT(whole).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey);
}

async function publicJwk({ publicKey, kid, alg }: SigningKey): Promise<Record<string, unknown>> {
  return { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
}
